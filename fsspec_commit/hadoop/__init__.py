"""What jobs of Hadoop's own committers have left: shown, and never changed."""
