public import Foundation
public import RecordStore
public import Records

/// A saved state of a container's environment: the exports of its databases, and the files of their assets, in one
/// folder.
///
/// `snapshot.json` describes the folder. Each database is a file that ``Exporter`` wrote, so `skylight import` reads it
/// too.
public struct Snapshot: Sendable, Hashable {
    /// The maximum length of a name, in characters.
    public static let nameLimit = 100
    /// The format version that this Skylight writes, and the latest that it reads.
    static let version: Int64 = 1

    static let manifestFile = "snapshot.json"
    static let publicFile = "public.ndjson"
    static let requestsFile = "requests.ndjson"
    static let assetsFolder = "assets"

    public let name: String
    /// The container and the environment in which the snapshot was saved. A shared snapshot may be opened in others.
    public let container: ContainerID
    public let environment: Records.Environment
    public let saved: Timestamp
    /// The number of records by type, in all databases.
    public let records: [Name: Int]
    public let assets: ExportReport.AssetCount
    /// The files of the databases: the public database, and the private database of each user with data.
    let files: [String]
    /// The number of logged requests that were saved with the snapshot; `nil` without the log.
    public let requests: Int?
    /// The folder with the snapshot's files.
    public let url: URL

    public var recordCount: Int { records.values.saturatedSum }
    /// The number of users with data.
    public var userCount: Int { files.count { $0 != Self.publicFile } }

    /// The folder with the asset files.
    var assetFolder: AssetFileFolder {
        AssetFileFolder(url.appending(path: Self.assetsFolder, directoryHint: .isDirectory))
    }
    /// The file with the logged requests, one JSON object per line; `nil` without the log.
    public var requestsURL: URL? { requests == nil ? nil : url.appending(path: Self.requestsFile) }

    // MARK: Names

    /// A valid name without surrounding white space.
    /// - Throws: ``SnapshotError`` with the rule.
    public static func checkedName(_ text: String) throws(SnapshotError) -> String {
        let name = text.trimmingWhiteSpace
        if name.isEmpty {
            throw SnapshotError(.invalid, "'name' is empty: a snapshot needs a name of 1 to \(nameLimit) characters")
        }
        if name.count > nameLimit {
            throw SnapshotError(
                .invalid,
                "'name' has \(name.count) characters: the name of a snapshot has at most \(nameLimit). Shorten it")
        }
        if name.unicodeScalars.contains(where: {
            $0.properties.generalCategory == .control || $0.properties.generalCategory == .lineSeparator
        }) {
            throw SnapshotError(
                .invalid, "'name' has a line end or another control character: write the name of a snapshot in one line"
            )
        }
        return name
    }

    /// The name of the folder. It is readable, safe in every file system, and different for different names.
    static func folderName(_ name: String) -> String {
        var hash = FNV1a()
        hash.add(text: name)
        let words = name.unicodeScalars.map {
            $0.isASCII && ($0.properties.isAlphabetic || $0.properties.numericType != nil) ? Character($0) : "-"
        }
        return "\(String(words.prefix(40)))-\(hash.text)"
    }

    /// The name of the file of the `number`th user.
    static func privateFile(_ number: Int) -> String { "private-\(number).ndjson" }

    /// True if a file with this name may contain the records of a database.
    static func isDatabaseFile(_ name: String) -> Bool {
        name == publicFile || name.wholeMatch(of: /private-[0-9]{1,6}\.ndjson/) != nil
    }
}

// MARK: snapshot.json

extension Snapshot {
    var manifest: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("skylight", "snapshot")
            writer.member("version", Self.version)
            writer.member("name", name)
            writer.member("container", container.description)
            writer.member("environment", environment.rawValue)
            writer.member("saved", saved.milliseconds)
            writer.name("records")
            writer.object { writer in
                for (type, count) in records.sorted(by: { $0.key < $1.key }) { writer.member(type, Int64(count)) }
            }
            writer.name("assets")
            writer.object { writer in
                writer.member("references", Int64(assets.references))
                writer.member("files", Int64(assets.files))
                writer.member("bytes", assets.bytes)
            }
            writer.member("databases", values: files) { $0.value($1) }
            if let requests { writer.member("requests", Int64(requests)) }
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    /// Reads the snapshot's description in a folder.
    /// - Throws: ``SnapshotError`` if it is missing or invalid.
    init(in url: URL) throws {
        let file = url.appending(path: Self.manifestFile)
        func damaged(_ reason: String) -> SnapshotError {
            SnapshotError(.damaged, "'\(file.path(percentEncoded: false))' does not describe a snapshot: \(reason)")
        }
        let bytes: Data
        do { bytes = try Data(contentsOf: file) } catch { throw damaged("it can't be read") }
        guard case .object(let members)? = try? JSONReader.value(of: bytes), members["skylight"] == "snapshot" else {
            throw damaged("it is no JSON object with \"skylight\":\"snapshot\"")
        }
        guard case .integer(let version)? = members["version"], version >= 1 else {
            throw damaged("it has no 'version'")
        }
        if version > Self.version {
            throw damaged("a newer version of Skylight wrote it (format \(version)); use that version")
        }
        guard case .string(let name)? = members["name"],
            let container = members["container"]?.text.flatMap({ ContainerID($0) }),
            let environment = members["environment"]?.text.flatMap({ Records.Environment(rawValue: $0) }),
            case .integer(let saved)? = members["saved"],
            case .object(let records)? = members["records"], case .object(let assets)? = members["assets"],
            case .array(let files)? = members["databases"]
        else {
            throw damaged(
                "'name', 'container', 'environment', 'saved', 'records', 'assets' or 'databases' is missing or not valid"
            )
        }
        do { self.name = try Self.checkedName(name) } catch { throw damaged(error.description) }
        (self.container, self.environment, self.saved, self.url) = (
            container, environment, Timestamp(milliseconds: saved), url
        )
        self.records = Dictionary(
            records.members.map { ($0.name, $0.value.count) }, uniquingKeysWith: { first, _ in first })
        self.assets = ExportReport.AssetCount(
            references: assets["references"]?.count ?? 0, files: assets["files"]?.count ?? 0,
            bytes: Int64(assets["bytes"]?.count ?? 0))
        self.files = files.compactMap(\.text)
        guard self.files.count == files.count, self.files.allSatisfy(Self.isDatabaseFile) else {
            throw damaged("'databases' names a file that no snapshot has")
        }
        requests = members["requests"].map(\.count)
    }
}

extension JSONValue {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
    /// The value as a count; 0 if it is not a positive integer.
    fileprivate var count: Int { if case .integer(let number) = self { Int(clamping: max(0, number)) } else { 0 } }
}

// MARK: - Environments

/// A container's environment, whose databases a snapshot saves and restores.
public struct SnapshotSource: Sendable {
    public let container: ContainerID
    public let environment: Environment
    /// The users who may have data. Users without data get no file.
    public private(set) var users: [ExportHeader.User]
    let transport: any AssetTransport
    /// The schema of production. A restoration of development must not remove parts of it.
    let production: Schema
    private let open: @Sendable (DatabaseScope, ExportHeader.User?) async throws -> any RecordDatabase

    /// - Parameter open: opens the public database, or a user's private one. An unknown user is created.
    public init(
        _ container: ContainerID, _ environment: Environment, users: [ExportHeader.User], transport: any AssetTransport,
        production: Schema,
        open: @escaping @Sendable (DatabaseScope, ExportHeader.User?) async throws -> any RecordDatabase
    ) {
        (self.container, self.environment, self.users, self.transport, self.production) = (
            container, environment, users, transport, production
        )
        self.open = open
    }

    /// The same environment with additional users who may have data.
    func adding(_ others: [ExportHeader.User]) -> SnapshotSource {
        var source = self
        let known = Set(users.map(\.userRecordName))
        source.users += others.filter { !known.contains($0.userRecordName) }
        return source
    }

    /// - Parameter user: the owner of a private database; `nil` for the public one.
    func database(of user: ExportHeader.User?) async throws -> any RecordDatabase {
        try await open(user == nil ? .public : .private, user)
    }
}

/// The progress of saving or restoring a snapshot.
public struct SnapshotProgress: Sendable, Hashable {
    public enum Phase: String, Sendable, Hashable, CaseIterable {
        case saving = "saving the present"
        case comparing = "comparing"
        case restoring = "restoring records"
        case deleting = "deleting records"
        case checking = "checking the result"
    }

    public var phase: Phase
    /// The number of records processed so far.
    public var count: Int
    /// The number of asset bytes processed so far.
    public var assetBytes: Int64 = 0
}

// MARK: - Errors

/// The error of a snapshot that cannot be saved, read or restored.
public struct SnapshotError: Error, Sendable, CustomStringConvertible {
    public enum Kind: Sendable, Hashable {
        /// The name or the request is invalid.
        case invalid
        /// The snapshot does not exist.
        case missing
        /// A snapshot with this name already exists.
        case exists
        /// A file cannot be written.
        case unwritable
        /// A file of the snapshot is damaged or missing.
        case damaged
        /// The environment refuses the content of the snapshot.
        case refused
    }

    public let kind: Kind
    public let description: String

    public init(_ kind: Kind, _ description: String) {
        self.kind = kind
        self.description = description
    }
}
