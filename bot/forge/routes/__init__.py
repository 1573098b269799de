"""The forge's REST calls, one file per noun."""
