"""What jobs of Hadoop's own committers have left: looked at, and never touched."""
