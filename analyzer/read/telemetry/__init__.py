"""Spans of OpenTelemetry and OpenInference."""
