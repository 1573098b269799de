"""One function per stage of the control loop; talks to ports only."""
