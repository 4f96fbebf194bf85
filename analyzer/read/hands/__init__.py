"""What events of OpenHands say."""
