internal import JSON
internal import RecordStore
internal import Records

// Decoding of the protocol's types (Apple's reference page "Types and Dictionaries", and docs/services.md).

extension Answer {
    func zoneID() throws -> ZoneID {
        let zone = try object("zoneID")
        return ZoneID(zoneName: try zone.name("zoneName"), ownerRecordName: try zone.optionalString("ownerRecordName").map { Name($0) })
    }

    func token() throws -> ChangeToken { ChangeToken(text: try string("syncToken")) }

    func optionalToken() throws -> ChangeToken? {
        try optionalString("syncToken").map { ChangeToken(text: $0) }
    }

    func zone() throws -> Zone {
        Zone(zoneID: try zoneID(), syncToken: try optionalToken(), atomic: try bool("atomic"))
    }

    /// A record. Keeps the text of its fields unchanged, except that it removes the
    /// download addresses of assets, which expire and are not part of a stored record.
    func record() throws -> StoredRecord {
        var fields = text("fields").map { FieldsText(bytes: Array($0)) } ?? .empty
        if fields.mayHoldAssets { fields = FieldsText(try fields.decoded()) }
        return StoredRecord(
            recordID: RecordID(recordName: try name("recordName"), zoneID: try zoneID()), recordType: try name("recordType"),
            recordChangeTag: try string("recordChangeTag"), created: try object("created").signature(),
            modified: try object("modified").signature(), parent: try optionalObject("parent")?.name("recordName"),
            fields: fields, sharing: try sharing())
    }

    /// Sharing's part of a record. The server does not tell the numbers of hierarchies.
    private func sharing() throws -> RecordSharing? {
        let members = try ["shortGUID", "share", "publicPermission", "participants", "rootRecordName"].compactMap { (name: Name) in
            try value(name).map { JSONObject.Member(name: name, value: $0) }
        }
        return members.isEmpty ? nil : try RecordSharing(JSONObject(members))
    }

    func signature() throws -> Signature {
        Signature(
            timestamp: try timestamp("timestamp"), userRecordName: try name("userRecordName"),
            deviceID: try string("deviceID"))
    }

    func change() throws -> RecordChange {
        let kind = try optionalString("change").map { text in
            guard let kind = RecordChange.Kind(rawValue: text) else { throw unexpected("a kind of change that is known") }
            return kind
        }
        let (position, record) = (has("position") ? try integer("position") : nil, try object("record"))
        if kind == .deleted, !record.has("recordType") {
            return RecordChange(deletionOf: RecordID(recordName: try record.name("recordName"), zoneID: try record.zoneID()), position: position)
        }
        return RecordChange(kind: kind, position: position, record: try record.record())
    }

    func zoneChange() throws -> ZoneChange {
        guard let kind = ZoneChange.Kind(rawValue: try string("change")) else { throw unexpected("a kind of change that is known") }
        return ZoneChange(
            zoneID: try zoneID(), kind: kind, timestamp: try optionalTimestamp("timestamp"), syncToken: try optionalToken())
    }

    func referrer() throws -> Referrer {
        guard let action = Reference.Action(rawValue: try string("action")) else { throw unexpected("an action that is known") }
        return Referrer(
            recordName: try name("recordName"), recordType: try name("recordType"), fieldName: try name("fieldName"), action: action)
    }

    func explanation() throws -> TokenExplanation {
        guard let scope = DatabaseScope(rawValue: try string("database")) else { throw unexpected("a database that is known") }
        return TokenExplanation(
            subject: try string("subject") == "database" ? .database : .zone(has("zoneID") ? try zoneID() : nil), scope: scope,
            userRecordName: try optionalString("userRecordName").map { Name($0) }, position: try integer("position"),
            moment: try optionalTimestamp("timestamp"), progress: try progress(),
            standing: try standing(), changesAfter: has("changesAfter") ? Int(try integer("changesAfter")) : nil)
    }

    private func progress() throws -> TokenExplanation.Progress {
        switch try string("progress") {
        case "complete": .complete
        case "firstPull": .firstPull
        case "reversePull": .reversePull
        case "pull": .pull(since: try integer("since"))
        default: throw unexpected("a progress that is known")
        }
    }

    private func standing() throws -> TokenExplanation.Standing {
        switch try string("standing") {
        case "good": .good
        case "expired": .expired(why: try string("why"))
        case "foreign": .foreign(why: try string("why"))
        default: throw unexpected("a standing that is known")
        }
    }
}
