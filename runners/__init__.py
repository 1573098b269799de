"""The node side: builds, judges and times kernels; holds no lasting credentials."""
