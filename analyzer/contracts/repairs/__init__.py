"""The smallest edit that makes a payload pass, and the smallest payload that passes at all."""
