"""Which graphs each published system distinguishes, beside what its paper proves."""
