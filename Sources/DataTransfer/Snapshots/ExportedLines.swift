internal import JSON
internal import Records

/// A record as a line of an export.
struct ExportedLine: Sendable {
    let bytes: [UInt8]
    let zoneID: ZoneID
    let recordName: Name
    let recordType: Name

    /// True if the record comes before another one in every export.
    func precedes(_ other: ExportedLine) -> Bool {
        if zoneID == other.zoneID { return recordName < other.recordName }
        if zoneID.isDefault != other.zoneID.isDefault { return zoneID.isDefault }
        return zoneID.zoneName < other.zoneID.zoneName
    }

    /// True if the records are equal. A record keeps the link of a share that has ended, so links alone are no difference.
    func isEqual(_ other: ExportedLine) -> Bool {
        if bytes == other.bytes { return true }
        func parts(_ line: ExportedLine) throws -> [Name: ArraySlice<UInt8>] {
            var parts = Dictionary(try JSONReader.memberSlices(of: line.bytes[...]), uniquingKeysWith: { first, _ in first })
            parts["shortGUID"] = nil
            return parts
        }
        // A line that can't be read is a difference, which its restoration reports.
        guard let own = try? parts(self), let others = try? parts(other) else { return false }
        return own == others
    }

    func isSameRecord(as other: ExportedLine) -> Bool { zoneID == other.zoneID && recordName == other.recordName }
}

/// Reads the records of an export in their order, one at a time.
struct ExportedLines {
    private static let identity: Set<Name> = ["recordName", "recordType", "zoneID"]

    /// The line before the records.
    let header: [UInt8]
    private var lines: JSONLinesReader
    private let path: String
    private var last: ExportedLine?

    init(_ export: ExportFile) throws {
        lines = try export.file.exportedLines()
        path = export.file.path
        header = try lines.nextLine() ?? []
    }

    /// - Throws: ``SnapshotError`` if the line is no record, or the records are not in order.
    mutating func next() throws -> ExportedLine? {
        try Task.checkCancellation()
        guard let bytes = try lines.nextLine() else { return nil }
        // Exports begin with these members, and the others of an equal record are not read. A restoration checks every member.
        let members = Dictionary((try? JSONReader.memberSlices(of: bytes[...], named: Self.identity)) ?? [], uniquingKeysWith: { first, _ in first })
        func value(_ name: Name) -> JSONValue? { members[name].flatMap { try? JSONReader.value(of: $0) } }
        guard case .string(let name)? = value("recordName"), case .string(let type)? = value("recordType"), let zone = value("zoneID"),
            let zoneID = try? ZoneID(zone)
        else { throw SnapshotError(.damaged, "\(path):\(lines.line): this is no record: it needs 'recordName', 'recordType' and 'zoneID'") }
        let line = ExportedLine(bytes: bytes, zoneID: zoneID, recordName: Name(name), recordType: Name(type))
        if let last, !last.precedes(line) {
            throw SnapshotError(.damaged, "\(path):\(lines.line): the record '\(name)' is not in the order of zones and names that exports have")
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

    /// Reads two exports side by side, with one record of each in memory.
    /// - Returns: the number of equal records.
    static func each(from before: ExportFile?, to after: ExportFile?, _ found: (LineDifference) async throws -> Void) async throws -> Int {
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
