"""The kernel suite under gate and the vocabulary its parts share."""
