"""Abilities and capabilities say the same: an ability is there exactly when it is declared."""

from fsspec_commit.store import AtomicRename, Evidence, Store
from fsspec_commit.testing.store_contract.given import Given


class AbilitiesContract(Given):
    """What a store declares of itself, and the objects it gives for it."""

    def test_a_store_has_every_verb(self, store: Store) -> None:
        """The adapter is a `Store` by shape."""
        assert isinstance(store, Store)

    def test_the_root_is_a_directory_name(self, store: Store) -> None:
        """Paths are made by joining, so the root ends with no slash."""
        assert not store.root.endswith("/"), store.root

    def test_files_are_renamed_exactly_when_declared(self, store: Store) -> None:
        """`files` is an object when `atomic_rename` is FILE or DIRECTORY, else ``None``."""
        declared = store.capabilities.atomic_rename in {AtomicRename.FILE, AtomicRename.DIRECTORY}
        assert (store.files is not None) == declared

    def test_directories_are_renamed_exactly_when_declared(self, store: Store) -> None:
        """`directories` is an object when `atomic_rename` is DIRECTORY, else ``None``."""
        declared = store.capabilities.atomic_rename is AtomicRename.DIRECTORY
        assert (store.directories is not None) == declared

    def test_empty_directories_are_removed_where_there_are_directories(self, store: Store) -> None:
        """Only areas that are directories can be empty."""
        assert store.empty_directories is None or store.directories is not None

    def test_directories_are_made_for_renames_only(self, store: Store) -> None:
        """What is made beforehand is what a rename would find missing."""
        assert store.directory_creation is None or store.files is not None

    def test_uploads_are_there_exactly_when_declared(self, store: Store) -> None:
        """`uploads` is an object when `multipart` is declared, else ``None``."""
        assert (store.uploads is not None) == (store.capabilities.multipart is True)

    def test_upload_facts_are_declared_with_uploads_only(self, store: Store) -> None:
        """How uploads are keyed is known exactly where there are uploads."""
        capabilities = store.capabilities
        assert (capabilities.upload_keyed_by is not None) == (capabilities.multipart is True)
        assert capabilities.multipart is True or not capabilities.uploads_listable

    def test_rename_facts_are_declared_with_renames_only(self, store: Store) -> None:
        """Nothing is said of renames on a store that has none."""
        capabilities = store.capabilities
        if store.files is None:
            assert not capabilities.exclusive_rename
            assert not capabilities.token_survives_rename

    def test_evidence_names_facts(self, store: Store) -> None:
        """Evidence is given only for fields that exist, and only in the words that exist."""
        words: set[Evidence] = {"declared", "probed", "assumed"}
        assert set(store.capabilities.evidence) <= set(store.capabilities.facts())
        assert set(store.capabilities.evidence.values()) <= words
