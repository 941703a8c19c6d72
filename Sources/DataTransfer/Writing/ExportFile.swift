public import Foundation
public import Records

/// A file that was written by an export.
public struct ExportFile: Sendable {
    /// The file's first line.
    public let header: ExportHeader
    let file: ImportFile

    /// Opens a file if its first line identifies it as an export, regardless of its name.
    /// - Returns: `nil` for any other readable file.
    /// - Throws: `ImportError` if the file can't be read, or its header is damaged.
    public init?(_ url: URL) throws {
        let file = try ImportFile(url, format: .ndjson)
        // In other files, the first line may be arbitrarily long, so this reads only its beginning.
        var bytes = try file.open()
        guard try bytes.peek() == UInt8(ascii: "{") else { return nil }
        var start: [UInt8] = []
        while start.count < 64, let byte = try bytes.next() { start.append(byte) }
        let mark = "\"\(ExportHeader.mark.name)\":\"\(ExportHeader.mark.value)\""
        guard String(decoding: start.filter { $0 != 0x20 && $0 != 0x09 }, as: UTF8.self).contains(mark) else {
            return nil
        }
        var lines = try file.exportedLines()
        switch try lines.next() {
        case .row(let row)?:
            do {
                header = try ExportHeader(JSONObject(row))
            } catch let error as RecordError {
                throw ImportError.unreadable(file: file.path, line: row.line, reason: error.reason)
            }
        case .bad(let line, let reason)?: throw ImportError.unreadable(file: file.path, line: line, reason: reason)
        case nil: return nil
        }
        self.file = file
    }
}

extension ImportFile {
    /// The lines of an export. The first line contains the schema and all zones, so it may be much longer than a
    /// record.
    func exportedLines() throws -> JSONLinesReader {
        JSONLinesReader(try open(), path: path, firstLineLimit: 256 << 20)
    }
}

extension JSONObject {
    /// The members of a line's JSON object.
    init(_ row: Row) {
        self.init(
            row.cells.compactMap { column, cell in
                if case .json(let value) = cell { JSONObject.Member(name: column, value: value) } else { nil }
            })
    }
}

// MARK: - Header

/// The first line of an export: the origin and the schema of the records.
public struct ExportHeader: Sendable, Hashable {
    /// The format version that this Skylight writes, and the latest that it reads.
    public static let version: Int64 = 1
    /// The member that identifies the header: `"skylight":"export"`.
    static let mark: (name: Name, value: String) = ("skylight", "export")

    public var address: DatabaseAddress
    /// The owner of the database; `nil` for the public database.
    public var user: User?
    /// The custom zones, including empty ones. Only zones of a shared database name their owner, because there it is
    /// not the user.
    public var zones: [ZoneID]
    public var schema: Schema
    /// The user's subscriptions, with their zones as in ``zones``.
    public var subscriptions: [Subscription] = []
    /// The user's key-value store, if the private database is exported as a whole.
    public var keyValues: [Name: PropertyValue] = [:]

    public struct User: Sendable, Hashable {
        public var userRecordName: Name
        /// The user's handle, if there is one.
        public var handle: String?

        public init(userRecordName: Name, handle: String?) {
            self.userRecordName = userRecordName
            self.handle = handle
        }
    }

    public init(address: DatabaseAddress, user: User?, zones: [ZoneID], schema: Schema) {
        self.address = address
        self.user = user
        self.zones = zones
        self.schema = schema
    }
}

extension ExportHeader {
    /// The line without its line end.
    var line: [UInt8] {
        var writer = JSONWriter(capacity: 4096)
        writer.object { writer in
            writer.member(Self.mark.name, Self.mark.value)
            writer.member("version", Self.version)
            writer.member("container", address.container.description)
            writer.member("environment", address.environment.rawValue)
            writer.member("database", address.scope.rawValue)
            if let user {
                if let handle = user.handle { writer.member("user", handle) }
                writer.member("userRecordName", user.userRecordName)
            }
            writer.member("zones", values: zones) { $0.exported($1) }
            writer.name("schema")
            writer.value(schema)
            if !subscriptions.isEmpty {
                writer.member("subscriptions", values: subscriptions) { $0.value($1) }
            }
            if keyValues.isEmpty { return }
            writer.name("keyValues")
            writer.value(.dictionary(keyValues))
        }
        return writer.bytes
    }

    /// Parses the line.
    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    init(_ members: JSONObject) throws {
        func string(_ name: Name) throws -> String {
            guard case .string(let string)? = members[name] else {
                throw RecordError(.badRequest, "the header of the export has no '\(name)'")
            }
            return string
        }
        guard case .integer(let version)? = members["version"], version >= 1 else {
            throw RecordError(.badRequest, "the header of the export has no 'version'")
        }
        if version > Self.version {
            throw RecordError(
                .badRequest,
                "the export was written by a newer version of Skylight (format \(version)); use that version")
        }
        guard let container = ContainerID(try string("container")) else {
            throw RecordError(.badRequest, "the header's 'container' is not a container name")
        }
        guard let environment = Environment(rawValue: try string("environment")) else {
            throw RecordError(.badRequest, "the header's 'environment' is not development or production")
        }
        guard let scope = DatabaseScope(rawValue: try string("database")) else {
            throw RecordError(.badRequest, "the header's 'database' is not public, private or shared")
        }
        guard let schema = members["schema"] else {
            throw RecordError(.badRequest, "the header of the export has no 'schema'")
        }
        guard case .array(let zones)? = members["zones"] else {
            throw RecordError(.badRequest, "the header of the export has no 'zones'")
        }
        var user: User?
        if scope != .public {
            let handle: String? = if case .string(let handle)? = members["user"] { handle } else { nil }
            user = User(userRecordName: Name(try string("userRecordName")), handle: handle)
        }
        self.init(
            address: DatabaseAddress(container: container, environment: environment, scope: scope), user: user,
            zones: try zones.map { try ZoneID($0) }, schema: try Schema(schema))
        subscriptions = try (RequestObject(members).objects("subscriptions") ?? []).map { try Subscription($0) }
        if let kept = try RequestObject(members).object("keyValues"),
            case .dictionary(let values) = try PropertyValue(kept)
        {
            keyValues = values
        }
    }
}

extension JSONWriter {
    /// Writes a zone in the export format.
    mutating func exported(_ zoneID: ZoneID) {
        object { writer in
            writer.member("zoneName", zoneID.zoneName)
            if let owner = zoneID.ownerRecordName { writer.member("ownerRecordName", owner) }
        }
    }
}
