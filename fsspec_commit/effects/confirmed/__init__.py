"""A store's verbs as the core calls them: each counted, paced and confirmed."""
