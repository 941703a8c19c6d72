"""pyicloud, an independent client of CloudKit Web Services, against Skylight."""

import base64
import uuid

import pytest
import requests
from pyicloud.common.cloudkit import (
    CKErrorItem,
    CKFVReference,
    CKFVString,
    CKModifyOperation,
    CKQueryFilterBy,
    CKQueryObject,
    CKQuerySortBy,
    CKRecord,
    CKReference,
    CKTombstoneRecord,
    CKWriteRecord,
    CKZoneChangesZoneReq,
    CKZoneID,
    CKZoneIDReq,
)
from pyicloud.common.cloudkit.client import CloudKitApiError, CloudKitContainerClient

CHATS = CKZoneIDReq(zoneName="Chats")


def make_client(server: str, container: str = "Chat", database: str = "private", user: str | None = None):
    session = requests.Session()
    if user:
        session.headers["X-Skylight-User"] = user
    return CloudKitContainerClient(
        f"{server}/database/1/iCloud.com.example.{container}/development/{database}",
        session,
        # pyicloud also sends this to Apple; the server must ignore it.
        {"clientBuildNumber": "2546Build15", "clientMasteringNumber": "2546Build15", "clientId": str(uuid.uuid4()), "remapEnums": True},
        timeout=60,
    )


@pytest.fixture
def client(server):
    return make_client(server)


def pull(client, zone: str, token: str | None = None, limit: int | None = None, owner: str | None = None):
    """All changes of a zone since a token, and the token after them."""
    request = CKZoneChangesZoneReq(zoneID=CKZoneID(zoneName=zone, ownerRecordName=owner), syncToken=token)
    records = []
    for page in client.iter_changes(zone_req=request, results_limit=limit):
        records += page.records
        token = page.syncToken
    return records, token


def by_room(room: str) -> CKQueryObject:
    return CKQueryObject(
        recordType="Message",
        filterBy=[
            CKQueryFilterBy(
                comparator="EQUALS",
                fieldName="room",
                fieldValue=CKFVReference(type="REFERENCE", value=CKReference(recordName=room, action="NONE")),
            )
        ],
        sortBy=[CKQuerySortBy(fieldName="sentAt", ascending=False)],
    )


def message(text: str, name: str | None = None, tag: str | None = None) -> CKWriteRecord:
    return CKWriteRecord(
        recordName=name or str(uuid.uuid4()).upper(),
        recordType="Message",
        recordChangeTag=tag,
        fields={
            "text": {"type": "STRING", "value": text},
            "size": {"type": "INT64", "value": 9007199254740993},
            "sentiment": {"type": "DOUBLE", "value": 0.25},
            "sentAt": {"type": "TIMESTAMP", "value": 1_793_000_000_123},
            "preview": {"type": "BYTES", "value": base64.b64encode(b"\x00\xff").decode()},
            "room": {"type": "REFERENCE", "value": {"recordName": "Room/lunch", "action": "NONE"}},
            "place": {"type": "LOCATION", "value": {"latitude": 51.5, "longitude": -0.1}},
        },
    )


def modify(client, kind: str, record: CKWriteRecord, zone: CKZoneIDReq = CHATS):
    return client.modify(operations=[CKModifyOperation(operationType=kind, record=record)], zone_id=zone, atomic=True).records[0]


def test_zones_are_listed(client):
    zones = {zone.zoneID.zoneName: zone for zone in client.zones_list().zones}
    assert {"_defaultZone", "Chats", "Family", "Book Club"} <= zones.keys()
    assert "Archive 2018" not in zones and "Trial" not in zones
    assert zones["Chats"].syncToken and zones["_defaultZone"].syncToken is None
    assert zones["Chats"].zoneID.ownerRecordName.startswith("_")
    assert zones["Chats"].zoneID.zoneType == "REGULAR_CUSTOM_ZONE"


def test_a_query_goes_through_all_pages(client):
    names, marker, pages = [], None, 0
    while True:
        page = client.query(query=by_room("Room/lunch"), zone_id=CHATS, results_limit=50, continuation=marker)
        assert all(isinstance(record, CKRecord) for record in page.records)
        names += [record.recordName for record in page.records]
        marker, pages = page.continuationMarker, pages + 1
        if not marker:
            break
    assert pages == len(names) // 50 + (len(names) % 50 > 0)
    assert len(names) == len(set(names)) > 250


def test_a_query_returns_what_was_asked(client):
    page = client.query(query=by_room("Room/general"), zone_id=CHATS, desired_keys=["text", "sentAt"], results_limit=5)
    assert len(page.records) == 5
    moments = [record.fields["sentAt"].value for record in page.records]
    assert moments == sorted(moments, reverse=True)
    assert all(set(record.fields) == {"text", "sentAt"} for record in page.records)


def test_words_are_searched_in_all_zones(client):
    query = CKQueryObject(
        recordType="Message",
        filterBy=[CKQueryFilterBy(comparator="CONTAINS_ALL_TOKENS", fieldName="text", fieldValue=CKFVString(type="STRING", value="token"))],
    )
    found = client.query(query=query, zone_wide=True).records
    assert found and all("token" in record.fields["text"].value for record in found)


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (
            CKQueryObject(
                recordType="Message",
                filterBy=[CKQueryFilterBy(comparator="EQUALS", fieldName="author", fieldValue=CKFVReference(type="REFERENCE", value=CKReference(recordName="Person/ada")))],
            ),
            "Field 'author' is not marked queryable",
        ),
        (CKQueryObject(recordType="Message", sortBy=[CKQuerySortBy(fieldName="text")]), "Field 'text' is not marked sortable"),
        (CKQueryObject(recordType="Nothing"), "Did not find record type: Nothing"),
    ],
)
def test_refused_queries_say_why(client, query, reason):
    with pytest.raises(CloudKitApiError) as refusal:
        client.query(query=query, zone_id=CHATS)
    assert refusal.value.payload["reason"] == reason


def test_lookup_finds_each_or_says_so(client):
    found, missing = client.lookup(["Room/general", "Room/nowhere"], zone_id=CHATS).records
    assert isinstance(found, CKRecord) and found.fields["title"].value == "General"
    assert isinstance(missing, CKErrorItem) and missing.serverErrorCode == "NOT_FOUND"


def test_a_record_is_made_changed_and_deleted(client):
    made = modify(client, "create", message("Hello from pyicloud 👋"))
    assert isinstance(made, CKRecord)
    [read] = client.lookup([made.recordName], zone_id=CHATS).records
    assert read.fields["text"].value == "Hello from pyicloud 👋"
    assert read.fields["size"].value == 9007199254740993
    assert read.fields["preview"].value == b"\x00\xff"
    assert read.fields["sentAt"].value.timestamp() == pytest.approx(1_793_000_000.123, abs=0.0005)
    assert read.fields["place"].value["latitude"] == 51.5

    changed = modify(client, "update", message("Hello again", made.recordName, made.recordChangeTag))
    assert changed.recordChangeTag != made.recordChangeTag
    with pytest.raises(CloudKitApiError, match="CONFLICT .client oplock error updating record."):
        modify(client, "update", message("Too late", made.recordName, made.recordChangeTag))

    deleted = modify(client, "delete", CKWriteRecord(recordName=made.recordName, recordType="Message", recordChangeTag=changed.recordChangeTag))
    assert isinstance(deleted, CKTombstoneRecord)
    [gone] = client.lookup([made.recordName], zone_id=CHATS).records
    assert isinstance(gone, CKErrorItem)


def test_changes_are_followed(client):
    records, token = pull(client, "Family", limit=70)
    names = [record.recordName for record in records]
    assert len(names) == len(set(names)) > 400
    assert all(isinstance(record, CKRecord) for record in records)
    again, same = pull(client, "Family", token)
    assert again == [] and same == token

    family = CKZoneIDReq(zoneName="Family")
    made = modify(client, "forceReplace", message("One more"), family)
    modify(client, "forceDelete", CKWriteRecord(recordName=names[3], recordType=records[3].recordType), family)
    since, _ = pull(client, "Family", token)
    assert [record.recordName for record in since][0] == made.recordName
    assert names[3] in [record.recordName for record in since if isinstance(record, CKTombstoneRecord)]
    # Tokens can be used again.
    assert [record.recordName for record in pull(client, "Family", token)[0]] == [record.recordName for record in since]


def test_the_database_says_which_zones_changed(client):
    first = client.database_changes()
    assert {"Chats", "Family", "Book Club"} <= {zone.zoneID.zoneName for zone in first.zones}
    assert client.database_changes(sync_token=first.syncToken).zones == []
    modify(client, "forceReplace", message("Something"))
    [zone] = client.database_changes(sync_token=first.syncToken).zones
    assert zone.zoneID.zoneName == "Chats"


def test_tokens_of_something_else_are_refused(client):
    database = client.database_changes().syncToken
    _, chats = pull(client, "Book Club")
    for token in [database, chats, chats[: len(chats) // 2], "garbage"]:
        with pytest.raises(CloudKitApiError, match="Unknown sync continuation type"):
            pull(client, "Chats", token)


def test_zones_of_others_are_in_the_shared_database(server):
    client = make_client(server, "Shopping", "shared")
    zones = [zone.zoneID for zone in client.zones_list().zones]
    assert sorted(zone.zoneName for zone in zones) == ["Household", "Käsefondue 🫕"]
    household = next(zone for zone in zones if zone.zoneName == "Household")
    records, _ = pull(client, "Household", owner=household.ownerRecordName)
    assert {record.recordType for record in records} == {"ShoppingList", "Item", "cloudkit.share"}
    # Ada sees the developer's zone of the same name.
    [other] = make_client(server, "Shopping", "shared", user="ada").zones_list().zones[:1]
    assert other.zoneID.ownerRecordName != household.ownerRecordName


def test_core_data_records_are_read_through_changes(server):
    client = make_client(server, "Journal")
    zone = "com.apple.coredata.cloudkit.zone"
    with pytest.raises(CloudKitApiError) as refusal:
        client.query(query=CKQueryObject(recordType="CD_Entry"), zone_id=CKZoneIDReq(zoneName=zone))
    assert refusal.value.payload["reason"] == "Field 'recordName' is not marked queryable"
    records, _ = pull(client, zone)
    assert {record.recordType for record in records} == {"CD_Entry", "CD_Journal", "CD_Tag", "CDMR"}
