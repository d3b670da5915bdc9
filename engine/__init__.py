"""The turn as a pure state machine. Knows no clock, no socket, no SDK, and awaits nothing."""
