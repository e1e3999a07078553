"""Run the server: see `http_service/serving.py`. The account is in the environment."""

from __future__ import annotations

import os

from tests.servers.azure.gen2.authorization import ACCOUNT_VARIABLE, KEY_VARIABLE, Account
from tests.servers.azure.gen2.endpoint import Gen2Endpoint
from tests.servers.azure.gen2.service import Service
from tests.servers.azure.gen2.storage import Storage
from tests.servers.http_service.serving import main

if __name__ == "__main__":
    account = Account(os.environ[ACCOUNT_VARIABLE], os.environ[KEY_VARIABLE])
    main(lambda journal: Gen2Endpoint(Service(Storage(journal), account)))
