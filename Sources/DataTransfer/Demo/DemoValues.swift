internal import JSON
internal import Records
internal import Text

extension RecordOperation {
    /// Creates or replaces a record unconditionally.
    static func put(_ recordType: Name, _ recordName: Name, parent: Name? = nil, _ fields: [Name: FieldValue]) -> RecordOperation {
        RecordOperation(
            .forceReplace, recordName: recordName, recordType: recordType, fields: fields.mapValues { FieldInput($0) },
            parent: parent.map { .record($0) } ?? .cleared)
    }

    /// Sets some fields of a record unconditionally, and its parent if one is given.
    static func change(_ recordType: Name, _ recordName: Name, parent: Name? = nil, _ fields: [Name: FieldValue]) -> RecordOperation {
        RecordOperation(
            .forceUpdate, recordName: recordName, recordType: recordType, fields: fields.mapValues { FieldInput($0) },
            parent: parent.map { .record($0) } ?? .unchanged)
    }

    static func remove(_ recordName: Name) -> RecordOperation {
        RecordOperation(.forceDelete, recordName: recordName)
    }

    /// Shares a record with all records below it; without a record, the whole zone. The guests still have to accept.
    static func share(_ root: Name?, titled title: String, as recordName: Name, with guests: KeyValuePairs<Name, SharePermission>) -> RecordOperation {
        var operation = RecordOperation(
            .create, recordName: recordName, recordType: Share.recordType, fields: ["cloudkit.title": FieldInput(.string(title))])
        operation.share = ShareInput(
            root: root.map { ShareInput.Root(recordName: $0, recordChangeTag: nil) }, publicPermission: SharePermission.none,
            participants: guests.map { user, permission in
                ShareParticipant(participantID: "Guest/\(user)", lookupInfo: LookupInfo(userRecordName: user), permission: permission)
            })
        return operation
    }
}

extension FieldValue {
    static func link(_ recordName: Name, _ action: Reference.Action = .none) -> FieldValue {
        .reference(Reference(recordName: recordName, action: action))
    }

    static func strings(_ strings: [String]) -> FieldValue {
        .list(strings.map { .string($0) }, of: .string)
    }

    static func place(_ latitude: Double, _ longitude: Double) -> FieldValue {
        .location(Location(latitude: latitude, longitude: longitude))
    }
}

extension Timestamp {
    /// A date and time in UTC. A date that does not exist counts as 1 January 1970.
    init(_ year: Int64, _ month: Int64, _ day: Int64, _ hour: Int64 = 12, _ minute: Int64 = 0) {
        self.init(milliseconds: ((CivilDate(year: year, month: month, day: day)?.daysSince1970 ?? 0) * 1440 + hour * 60 + minute) * 60_000)
    }

    func adding(days: Int = 0, hours: Int = 0, minutes: Int = 0, seconds: Int = 0) -> Timestamp {
        Timestamp(milliseconds: milliseconds + Int64(((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
    }
}
