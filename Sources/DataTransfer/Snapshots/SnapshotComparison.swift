internal import Foundation
public import RecordStore
public import Records

/// The differences between two snapshots, or between a snapshot and the current state.
public struct SnapshotComparison: Sendable {
    public struct Counts: Sendable, Hashable {
        public var (added, changed, removed) = (0, 0, 0)

        public var total: Int { added + changed + removed }
    }

    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case added, changed, removed
    }

    /// A record that differs.
    public struct Entry: Sendable, Hashable {
        public let kind: Kind
        /// The owner of the private database; `nil` for the public one.
        public let user: ExportHeader.User?
        public let zoneID: ZoneID
        public let recordName: Name
        public let recordType: Name
        /// The fields that differ in a changed record, by name.
        public let fields: [Name]
    }

    /// A zone that exists on one side only.
    public struct ZoneEntry: Sendable, Hashable {
        public let kind: Kind
        public let user: ExportHeader.User
        public let zoneName: Name
    }

    /// The numbers of differing records, by type.
    public internal(set) var types: [Name: Counts] = [:]
    /// The first differing records of each type and kind, in the order of databases, zones and names.
    public internal(set) var entries: [Entry] = []
    /// The number of equal records.
    public internal(set) var equal = 0
    public internal(set) var zones: [ZoneEntry] = []
    public internal(set) var subscriptions = Counts()
    public internal(set) var keyValues = Counts()
    /// The difference of the schemas; in the plan of a restoration, the change that it makes.
    public internal(set) var schema: SchemaDifference
    /// Further changes of the schema by a restoration: composite indexes, and how numbers are spelled. One line each.
    public internal(set) var otherSchemaChanges: [String] = []

    /// The numbers of all differing records.
    public var records: Counts {
        types.values.reduce(into: Counts()) { sum, counts in
            sum.added += counts.added
            sum.changed += counts.changed
            sum.removed += counts.removed
        }
    }

    /// True if there are no differences except possibly in the schemas.
    public var hasEqualData: Bool {
        records.total == 0 && zones.isEmpty && subscriptions.total == 0 && keyValues.total == 0
    }

    /// The number of changes of the schema.
    public var schemaChanges: Int { schema.changes.count + otherSchemaChanges.count }

    public var isEmpty: Bool { hasEqualData && schemaChanges == 0 }

    /// - Parameter limit: the maximum number of entries for each type and kind.
    init(from before: SnapshotContent, to after: SnapshotContent, limit: Int) async throws {
        schema = SchemaDifference(from: before.schema, to: after.schema)
        for (user, old, new) in SnapshotContent.pairs(before, after) {
            equal += try await LineDifference.each(from: old, to: new) { add($0, of: user, limit) }
            if let user { addZones(of: user, Set(old?.header.zones ?? []), Set(new?.header.zones ?? [])) }
            func named<Value>(_ values: [Value], _ name: (Value) -> Name) -> [Name: Value] {
                Dictionary(values.map { (name($0), $0) }, uniquingKeysWith: { first, _ in first })
            }
            let subscriptions = { (export: ExportFile?) in named(export?.header.subscriptions ?? [], \.subscriptionID) }
            self.subscriptions.add(subscriptions(old), subscriptions(new))
            keyValues.add(old?.header.keyValues ?? [:], new?.header.keyValues ?? [:])
        }
    }

    private mutating func add(_ difference: LineDifference, of user: ExportHeader.User?, _ limit: Int) {
        // A store creates the records of users itself.
        if difference.isMadeByTheStore { return }
        let line = difference.line
        let kind = difference.kind
        types[line.recordType, default: Counts()][kind] += 1
        guard types[line.recordType, default: Counts()][kind] <= limit else { return }
        entries.append(
            Entry(
                kind: kind, user: user, zoneID: line.zoneID, recordName: line.recordName, recordType: line.recordType,
                fields: difference.fields))
    }

    private mutating func addZones(of user: ExportHeader.User, _ before: Set<ZoneID>, _ after: Set<ZoneID>) {
        let (added, removed) = (after.subtracting(before), before.subtracting(after))
        zones +=
            (added.map { ZoneEntry(kind: .added, user: user, zoneName: $0.zoneName) }
            + removed.map { ZoneEntry(kind: .removed, user: user, zoneName: $0.zoneName) })
            .sorted { $0.zoneName < $1.zoneName }
    }
}

extension SnapshotComparison.Counts {
    public subscript(kind: SnapshotComparison.Kind) -> Int {
        get {
            switch kind {
            case .added: added
            case .changed: changed
            case .removed: removed
            }
        }
        set {
            switch kind {
            case .added: added = newValue
            case .changed: changed = newValue
            case .removed: removed = newValue
            }
        }
    }

    fileprivate mutating func add<Value: Equatable>(_ before: [Name: Value], _ after: [Name: Value]) {
        for (name, value) in after {
            if let old = before[name] { changed += old == value ? 0 : 1 } else { added += 1 }
        }
        removed += before.keys.count { after[$0] == nil }
    }
}

extension LineDifference {
    /// The record after the difference or, if it was deleted, before it.
    var line: ExportedLine {
        switch self {
        case .added(let line), .removed(let line): line
        case .changed(_, let to): to
        }
    }

    var kind: SnapshotComparison.Kind {
        switch self {
        case .added: .added
        case .changed: .changed
        case .removed: .removed
        }
    }

    /// True if the record is a user's record that exists on one side only.
    var isMadeByTheStore: Bool {
        if case .changed = self { return false }
        return line.recordType == Schema.usersType
    }

    /// The names of the fields and of the other parts that differ in a changed record.
    fileprivate var fields: [Name] {
        guard case .changed(let from, let to) = self else { return [] }
        // The lines were already read as objects.
        guard case .object(let old)? = try? JSONReader.value(of: from.bytes),
            case .object(let new)? = try? JSONReader.value(of: to.bytes)
        else { return [] }
        func fields(_ record: JSONObject) -> JSONObject {
            if case .object(let fields)? = record["fields"] { fields } else { JSONObject() }
        }
        let (left, right) = (fields(old), fields(new))
        let names = Set(left.names).union(right.names).filter { left[$0] != right[$0] }.sorted()
        let parts = Set(old.names).union(new.names).subtracting(["fields", "created", "modified"]).filter {
            old[$0] != new[$0]
        }.sorted()
        return names + parts
    }
}

extension SnapshotFolder {
    /// The maximum number of records that a comparison lists for each type and kind.
    public static let entryLimit = 20

    /// Compares two snapshots.
    public func compare(_ before: Snapshot, with after: Snapshot) async throws -> SnapshotComparison {
        try await SnapshotComparison(from: SnapshotContent(before), to: SnapshotContent(after), limit: Self.entryLimit)
    }

    /// Compares a snapshot with the current state.
    /// - Parameter source: the environment with the current state.
    public func compare(
        _ before: Snapshot, withPresentOf source: SnapshotSource, progress: (SnapshotProgress) -> Void = { _ in }
    ) async throws -> SnapshotComparison {
        let before = try SnapshotContent(before)
        return try await withPresent(of: source, progress) {
            try await SnapshotComparison(from: before, to: $0, limit: Self.entryLimit)
        }
    }

    /// Exports the current state to files that are removed afterwards.
    func withPresent<Value>(
        of source: SnapshotSource, _ progress: (SnapshotProgress) -> Void,
        _ work: (SnapshotContent) async throws -> Value
    ) async throws -> Value {
        let draft = try draft()
        defer { close(draft) }
        let exported = try await draft.export(source, assets: nil, progress: progress)
        return try await work(SnapshotContent(exported.files, in: draft.url))
    }
}

// MARK: - Databases of a snapshot

/// The databases of a snapshot or of the current state.
struct SnapshotContent: Sendable {
    let publicExport: ExportFile
    /// The exports of private databases, by the record names of their users.
    let privateExports: [Name: ExportFile]

    /// - Throws: ``SnapshotError`` if a file is missing or damaged.
    init(_ files: [String], in folder: URL) throws {
        var (publicExport, privateExports): (ExportFile?, [Name: ExportFile]) = (nil, [:])
        for name in files {
            let url = folder.appending(path: name)
            let export: ExportFile?
            do { export = try ExportFile(url) } catch let error as ImportError {
                throw SnapshotError(.damaged, error.description)
            }
            guard let export else {
                throw SnapshotError(.damaged, "'\(url.path(percentEncoded: false))' is not an export")
            }
            switch (name == Snapshot.publicFile, export.header.address.scope, export.header.user) {
            case (true, .public, nil): publicExport = export
            case (false, .private, let user?): privateExports[user.userRecordName] = export
            default:
                throw SnapshotError(
                    .damaged,
                    "'\(url.path(percentEncoded: false))' is the export of another database than its name says")
            }
        }
        guard let publicExport else {
            throw SnapshotError(
                .damaged, "The snapshot in '\(folder.path(percentEncoded: false))' has no \(Snapshot.publicFile)")
        }
        (self.publicExport, self.privateExports) = (publicExport, privateExports)
    }

    init(_ snapshot: Snapshot) throws { try self.init(snapshot.files, in: snapshot.url) }

    /// True if the content is only the schema of a new container.
    func isEmpty() throws -> Bool {
        var records = try ExportedLines(publicExport)
        return try privateExports.isEmpty && publicExport.header.isEmpty
            && SchemaDifference(from: .initial, to: schema).isEmpty && records.next() == nil
    }

    var schema: Schema { publicExport.header.schema }

    /// The databases of two contents: the public one first, then those of users by record name.
    static func pairs(_ before: SnapshotContent, _ after: SnapshotContent) -> [(
        user: ExportHeader.User?, before: ExportFile?, after: ExportFile?
    )] {
        let users = Set(before.privateExports.keys).union(after.privateExports.keys).sorted()
        return [(nil, before.publicExport, after.publicExport)]
            + users.map { name in
                let (old, new) = (before.privateExports[name], after.privateExports[name])
                return (new?.header.user ?? old?.header.user, old, new)
            }
    }
}

extension ExportHeader {
    /// True if the database has no custom zones, subscriptions or keys.
    var isEmpty: Bool { zones.isEmpty && subscriptions.isEmpty && keyValues.isEmpty }
}

// MARK: - Lines of an export

/// A record as a line of an export.
struct ExportedLine: Sendable {
    let bytes: [UInt8]
    let zoneID: ZoneID
    let recordName: Name
    let recordType: Name

    /// True if the record precedes another one in every export.
    func precedes(_ other: ExportedLine) -> Bool {
        if zoneID == other.zoneID { return recordName < other.recordName }
        if zoneID.isDefault != other.zoneID.isDefault { return zoneID.isDefault }
        return zoneID.zoneName < other.zoneID.zoneName
    }

    /// True if the records are equal. Links alone are not a difference, because a record keeps the link of its share
    /// after the share has ended.
    func isEqual(_ other: ExportedLine) -> Bool {
        if bytes == other.bytes { return true }
        func parts(_ line: ExportedLine) throws -> [Name: ArraySlice<UInt8>] {
            var parts = Dictionary(
                try JSONReader.memberSlices(of: line.bytes[...]), uniquingKeysWith: { first, _ in first })
            parts["shortGUID"] = nil
            return parts
        }
        // An unreadable line counts as a difference. Restoring it reports the error.
        guard let own = try? parts(self), let others = try? parts(other) else { return false }
        return own == others
    }

    func isSameRecord(as other: ExportedLine) -> Bool { zoneID == other.zoneID && recordName == other.recordName }
}

/// Reads the records of an export in order, one at a time.
struct ExportedLines {
    private static let identity: Set<Name> = ["recordName", "recordType", "zoneID"]

    /// The first line, before the records.
    let header: [UInt8]
    private var lines: JSONLinesReader
    private let path: String
    private var last: ExportedLine?

    init(_ export: ExportFile) throws {
        lines = try export.file.exportedLines()
        path = export.file.path
        header = try lines.nextLine() ?? []
    }

    /// - Throws: ``SnapshotError`` if a line is not a record, or the records are not in order.
    mutating func next() throws -> ExportedLine? {
        try Task.checkCancellation()
        guard let bytes = try lines.nextLine() else { return nil }
        // These members come first in an export, and the other members of equal records are not parsed. Restoring
        // checks every member.
        let members = Dictionary(
            (try? JSONReader.memberSlices(of: bytes[...], named: Self.identity)) ?? [],
            uniquingKeysWith: { first, _ in first })
        func value(_ name: Name) -> JSONValue? { members[name].flatMap { try? JSONReader.value(of: $0) } }
        guard case .string(let name)? = value("recordName"), case .string(let type)? = value("recordType"),
            let zone = value("zoneID"),
            let zoneID = try? ZoneID(zone)
        else {
            throw SnapshotError(
                .damaged, "\(path):\(lines.line): this is no record: it needs 'recordName', 'recordType' and 'zoneID'")
        }
        let line = ExportedLine(bytes: bytes, zoneID: zoneID, recordName: Name(name), recordType: Name(type))
        if let last, !last.precedes(line) {
            throw SnapshotError(
                .damaged,
                "\(path):\(lines.line): the record '\(name)' is not in the order of zones and names that exports have")
        }
        last = line
        return line
    }
}

/// The difference of a record between two exports of the same database.
enum LineDifference {
    case added(ExportedLine)
    case changed(from: ExportedLine, to: ExportedLine)
    case removed(ExportedLine)

    /// Finds the differences between two exports, with one record of each in memory.
    /// - Returns: the number of equal records.
    static func each(from before: ExportFile?, to after: ExportFile?, _ found: (LineDifference) async throws -> Void)
        async throws -> Int
    {
        var (old, new) = (try before.map { try ExportedLines($0) }, try after.map { try ExportedLines($0) })
        var (left, right) = (try old?.next(), try new?.next())
        var equal = 0
        while true {
            switch (left, right) {
            case (nil, nil): return equal
            case (let line?, nil):
                try await found(.removed(line))
                left = try old?.next()
            case (nil, let line?):
                try await found(.added(line))
                right = try new?.next()
            case (let from?, let to?) where from.isSameRecord(as: to):
                if from.isEqual(to) { equal += 1 } else { try await found(.changed(from: from, to: to)) }
                (left, right) = (try old?.next(), try new?.next())
            case (let from?, let to?):
                if from.precedes(to) {
                    try await found(.removed(from))
                    left = try old?.next()
                } else {
                    try await found(.added(to))
                    right = try new?.next()
                }
            }
        }
    }
}
