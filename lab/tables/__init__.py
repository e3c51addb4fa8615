"""Small tables of molecules: policylearn beside what a chemist already has, on the very same files."""
