"""What `kernelgate bench verdict` replays: where samples come from, and the rules that are fed with them."""
