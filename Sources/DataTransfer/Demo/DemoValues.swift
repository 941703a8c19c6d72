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

    /// Sets some fields of a record unconditionally.
    static func change(_ recordType: Name, _ recordName: Name, _ fields: [Name: FieldValue]) -> RecordOperation {
        RecordOperation(.forceUpdate, recordName: recordName, recordType: recordType, fields: fields.mapValues { FieldInput($0) })
    }

    static func remove(_ recordName: Name) -> RecordOperation {
        RecordOperation(.forceDelete, recordName: recordName)
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
