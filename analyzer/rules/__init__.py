"""The rules: functions of frames, one module each, listed in `catalogue`."""
