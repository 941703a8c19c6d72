"""pyicloud's typed client, whose models refuse unknown members, as users of an app: answers to them, and refusals."""

import pytest
import requests
from pyicloud.common.cloudkit import CKModifyOperation, CKQueryObject, CKRecord, CKWriteRecord, CKZoneIDReq
from pyicloud.common.cloudkit.client import CloudKitApiError, CloudKitContainerClient, CloudKitRateLimited
from required_server import RequiredServer

CONTAINER = "iCloud.com.example.Roles"
HOME = CKZoneIDReq(zoneName="_defaultZone")


class App:
    """A server with an app's container, its API token and its users."""

    def __init__(self, server):
        self.server = server
        self.token = self.ask("accounts/tokens/make", {"container": CONTAINER, "name": "The app"})["secret"]
        note = {"name": "Note", "fields": {"text": {"type": "STRING", "indexes": ["QUERYABLE"]}}, "systemIndexes": {"___recordID": ["QUERYABLE"]}}
        self.ask(f"{CONTAINER}/development/public/schema/edit", {"edits": [{"addType": note}]})

    def ask(self, action, body):
        answer = requests.post(f"{self.server.address}/skylight/1/{action}", json=body, auth=self.server.administrator, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def sign_in(self, user):
        return self.ask("accounts/sessions/make", {"container": CONTAINER, "user": user})["webAuthToken"]

    def client(self, user):
        parameters = {"ckAPIToken": self.token, "clientBuildNumber": "2546Build15", "remapEnums": True, "ckWebAuthToken": self.sign_in(user)}
        return CloudKitContainerClient(
            f"{self.server.address}/database/1/{CONTAINER}/development/public", requests.Session(), parameters, validation_extra="forbid", timeout=60)


@pytest.fixture(scope="module")
def app():
    with RequiredServer() as server:
        yield App(server)


def operation(kind, name, text=None, tag=None):
    fields = {} if text is None else {"text": {"type": "STRING", "value": text}}
    return CKModifyOperation(operationType=kind, record=CKWriteRecord(recordName=name, recordType="Note", recordChangeTag=tag, fields=fields))


def modify(client, *operations):
    return client.modify(operations=list(operations), zone_id=HOME).records


def refusal(client, *operations):
    """The reason of the only refused record."""
    with pytest.raises(CloudKitApiError) as raised:
        modify(client, *operations)
    (record,) = raised.value.payload["records"]
    assert record["serverErrorCode"] == "ACCESS_DENIED"
    return record["reason"]


def names(client):
    page = client.query(query=CKQueryObject(recordType="Note"), zone_id=HOME)
    assert all(isinstance(record, CKRecord) for record in page.records)
    return {record.recordName for record in page.records}


def test_a_user_makes_reads_and_changes_what_is_the_users_own(app):
    anna = app.client("anna")
    (saved,) = modify(anna, operation("create", "anna's", "first"))
    assert saved.created.userRecordName == saved.modified.userRecordName
    (changed,) = modify(anna, operation("update", "anna's", "second", saved.recordChangeTag))
    assert changed.fields["text"].value == "second"
    (found,) = anna.lookup(["anna's"], zone_id=HOME).records
    assert found.recordChangeTag == changed.recordChangeTag
    assert "anna's" in names(anna)


def test_another_user_reads_it_and_may_not_change_it(app):
    (saved,) = modify(app.client("anna"), operation("forceReplace", "shown", "hers"))
    bert = app.client("bert")
    assert bert.lookup(["shown"], zone_id=HOME).records[0].fields["text"].value == "hers"
    assert "shown" in names(bert)
    assert refusal(bert, operation("update", "shown", "his", saved.recordChangeTag)) == "WRITE operation not permitted"
    assert refusal(bert, operation("forceUpdate", "shown", "his")) == "WRITE operation not permitted"
    assert refusal(bert, operation("forceDelete", "shown")) == "WRITE operation not permitted"
    assert bert.lookup(["shown"], zone_id=HOME).records[0].fields["text"].value == "hers"


def test_a_throttled_client_gets_a_time_to_wait():
    with RequiredServer("--throttle", "3") as server:
        app = App(server)
        dora, emil = app.client("dora"), app.client("emil")
        with pytest.raises(CloudKitRateLimited) as raised:
            for _ in range(60):
                names(dora)
        assert raised.value.retry_after == 1
        # Other clients are not limited, nor is the administrator.
        names(emil)
        for _ in range(8):
            app.ask(f"{CONTAINER}/development/public/schema/builds", {})
        noted = requests.get(f"{server.address}/skylight/1/requests", params={"errors": 1}, auth=server.administrator, timeout=60).json()["requests"]
        assert any(request["status"] == 429 and request["error"]["serverErrorCode"] == "THROTTLED" for request in noted)
