public import RecordStore
public import Records

/// Writes the records of a database as NDJSON that ``Restorer`` reads: a header with the schema, then one line per
/// record.
///
/// Records are sorted by zone and then by name, so equal databases give equal exports. Fields are copied in
/// their stored form. Only one page is in memory at a time. Records that are saved during the export may or
/// may not be included. Every record that does not change during the export is included exactly once.
///
/// The bytes of assets go into a folder beside the export, each distinct content once under its checksum,
/// before their records are written. Without a folder, assets are omitted, and the report counts them.
public struct Exporter: Sendable {
    /// Records per page.
    private static let pageSize = 500

    private let database: any RecordDatabase
    private let options: ExportOptions
    private let assets: AssetExchange?

    /// - Parameter assets: the folder and the transport for asset bytes; `nil` omits assets.
    public init(_ database: any RecordDatabase, options: ExportOptions = ExportOptions(), assets: AssetExchange? = nil)
    {
        self.database = database
        self.options = options
        self.assets = assets
    }

    /// Exports the records.
    /// - Parameters:
    ///   - progress: called after each page, and during the download of asset bytes.
    ///   - write: receives whole lines, many at a time.
    /// - Throws: ``ExportError`` if the requested data is not available, ``AssetFileError`` if the asset
    ///   folder is not writable, `RecordError` if the database refuses a request, and errors of `write`.
    public func run(
        progress: (ExportProgress) -> Void = { _ in }, write: ([UInt8]) throws -> Void
    ) async throws -> ExportReport {
        try database.require(.listRecords)
        let zones = try await zones()
        var schema = try await database.require(.showSchema).schema()
        if let recordTypes = options.recordTypes {
            for type in recordTypes.sorted() where schema.types[type] == nil {
                let known = schema.sortedTypes.map(\.name.string).joined(separator: ", ")
                throw ExportError.invalid("There is no record type '\(type)'; choose one of \(known)")
            }
            schema.types = schema.types.filter { recordTypes.contains($0.key) }
        }
        var header = ExportHeader(
            address: database.address,
            user: database.address.scope == .public
                ? nil : ExportHeader.User(userRecordName: database.caller.userRecordName, handle: options.userHandle),
            zones: zones.filter { !$0.isDefault }.map(exported), schema: schema)
        header.subscriptions = try await subscriptions(in: zones)
        header.keyValues = try await keyValues()
        try write(header.line + [UInt8(ascii: "\n")])
        var report = ExportReport(records: 0, zones: zones, recordTypes: schema.sortedTypes.map(\.name))
        let total = try await total(of: zones)
        progress(ExportProgress(count: 0, total: total))
        try assets?.folder.make()
        var seen: Set<FileChecksum> = []
        for zoneID in zones {
            var request = RecordListRequest(
                zoneID, recordTypes: options.recordTypes, limit: PageLimit(records: Self.pageSize))
            repeat {
                let page = try await database.require(.listRecords).list(request)
                var records: [StoredRecord] = []
                for record in page.records where exports(record.recordType) {
                    let count = report.records
                    records.append(
                        try await export(assetsOf: record, &report, &seen) {
                            progress(ExportProgress(count: count, total: total, assetBytes: $0))
                        })
                }
                try write(lines(of: records, in: zoneID))
                report.records += records.count
                report.notKnown += page.notKnown
                for record in records { report.types[record.recordType, default: 0] += 1 }
                progress(ExportProgress(count: report.records, total: total, assetBytes: report.assets.bytes))
                request.after = page.last
            } while request.after != nil
        }
        if !seen.isEmpty { try await assets?.folder.sync() }
        return report
    }

    /// The zones to export, in database order.
    private func zones() async throws -> [ZoneID] {
        var all = try await database.zones().map(\.zoneID)
        // The default zone counts as existing before its first record is saved.
        if database.address.scope != .shared, !all.contains(where: \.isDefault) { all.insert(.default, at: 0) }
        guard let asked = options.zones else { return all }
        for zoneID in asked where !all.contains(where: { Self.means(zoneID, $0) }) {
            let known = all.map { "'\($0.zoneName)'" }.joined(separator: ", ")
            throw ExportError.invalid(
                "There is no zone '\(zoneID.zoneName)'"
                    + (known.isEmpty ? "; the database has none" : "; choose one of \(known)"))
        }
        return all.filter { zoneID in asked.contains { Self.means($0, zoneID) } }
    }

    /// True if the requested id matches a zone of the database. Without an owner, it matches every zone of that name.
    private static func means(_ asked: ZoneID, _ zoneID: ZoneID) -> Bool {
        asked.zoneName == zoneID.zoneName
            && (asked.ownerRecordName == nil || asked.ownerRecordName == zoneID.ownerRecordName)
    }

    /// The user's subscriptions whose subject is exported.
    private func subscriptions(in zones: [ZoneID]) async throws -> [Subscription] {
        guard options.hasSubscriptions, database.can(.keepSubscriptions) else { return [] }
        return try await database.require(.keepSubscriptions).subscriptions().compactMap { subscription in
            let recordType: Name? =
                switch subscription.subject {
                case .query(let subject): subject.query.recordType
                case .zone(_, let recordType), .database(let recordType): recordType
                }
            if let asked = options.recordTypes, recordType.map({ !asked.contains($0) }) ?? true { return nil }
            guard let zoneID = subscription.zoneID else { return options.zones == nil ? subscription : nil }
            return zones.contains { Self.means($0, zoneID) } ? subscription.inZone(exported(zoneID)) : nil
        }
    }

    /// The user's key-value store, which is only exported with a whole database.
    private func keyValues() async throws -> [Name: PropertyValue] {
        guard options.zones == nil, options.recordTypes == nil, database.address.scope == .private,
            database.can(.keepKeyValues)
        else { return [:] }
        let changes = try await database.require(.keepKeyValues).keyValues(since: nil).changes
        return Dictionary(
            changes.compactMap { change in change.value.map { (change.key, $0) } },
            uniquingKeysWith: { first, _ in first })
    }

    /// Only the owner exports a share. A guest cannot share the guest's copy of a zone.
    private func exports(_ recordType: Name) -> Bool {
        recordType != Share.recordType || database.address.scope == .private
    }

    private func total(of zones: [ZoneID]) async throws -> Int? {
        guard database.can(.countRecords) else { return nil }
        var total = 0
        for zoneID in zones {
            let counts = try await database.require(.countRecords).counts(in: zoneID).records
            let exported = counts.filter { exports($0.key) && options.recordTypes?.contains($0.key) ?? true }
            total = total.addingSaturated(exported.values.saturatedSum)
        }
        return total
    }

    /// Exports the bytes of a record's assets.
    /// - Parameter progress: receives the total number of asset bytes so far.
    /// - Returns: the record for the export, without assets whose bytes are not exported.
    private func export(
        assetsOf record: StoredRecord, _ report: inout ExportReport, _ seen: inout Set<FileChecksum>,
        progress: (Int64) -> Void
    ) async throws -> StoredRecord {
        if assets == nil, options.namesAssets { return record }
        let found = try record.fields.assets()
        if found.isEmpty { return record }
        var count = ExportReport.AssetCount()
        for (field, asset) in found {
            guard let checksum = FileChecksum(asset.fileChecksum) else {
                // Until a mirror has fetched a file, the asset has the checksum of the origin.
                if assets == nil {
                    count += ExportReport.AssetCount(references: 1, files: 1, bytes: asset.size)
                    continue
                }
                throw ExportError.invalid(
                    "The asset in field '\(field)' of '\(record.recordID.recordName)' has no checksum from Skylight")
            }
            count.references += 1
            guard seen.insert(checksum).inserted else { continue }
            let before = report.assets.bytes.addingSaturated(count.bytes)
            count.files += 1
            count.bytes = count.bytes.addingSaturated(asset.size)
            guard let assets else { continue }
            do {
                try await assets.folder.add(checksum, size: asset.size, from: assets.transport) {
                    progress(before.addingSaturated($0))
                }
            } catch let error as RecordError {
                throw RecordError(
                    error.code,
                    "The asset in field '\(field)' of '\(record.recordID.recordName)' can't be exported: \(error.reason)",
                    retryAfter: error.retryAfter)
            }
        }
        guard assets == nil else {
            report.assets += count
            return record
        }
        report.leftOut += count
        var record = record
        let left = Set(try record.fields.decoded().map(\.name)).subtracting(found.map(\.field))
        record.fields = try record.fields.keeping(left)
        return record
    }

    private func lines(of records: [StoredRecord], in zoneID: ZoneID) -> [UInt8] {
        var lines: [UInt8] = []
        for record in records {
            var writer = JSONWriter(capacity: record.fields.bytes.count + 512)
            writer.exported(record, in: exported(zoneID))
            lines += writer.bytes
            lines.append(UInt8(ascii: "\n"))
        }
        return lines
    }

    /// The zone id in the export. Only zones of a shared database keep their owner, because there it is not the user.
    private func exported(_ zoneID: ZoneID) -> ZoneID {
        database.address.scope == .shared ? zoneID : ZoneID(zoneName: zoneID.zoneName)
    }
}

extension ExportReport.AssetCount {
    static func += (total: inout Self, more: Self) {
        total.references += more.references
        total.files += more.files
        total.bytes = total.bytes.addingSaturated(more.bytes)
    }
}

extension JSONWriter {
    /// Writes a record with all data that an import restores. Copies the fields in their stored form.
    fileprivate mutating func exported(_ record: StoredRecord, in zoneID: ZoneID) {
        object { writer in
            writer.member("recordName", record.recordID.recordName)
            writer.member("recordType", record.recordType)
            writer.name("zoneID")
            writer.exported(zoneID)
            writer.name("fields")
            writer.text(record.fields.bytes)
            if let parent = record.parent {
                writer.name("parent")
                writer.object { $0.member("recordName", parent) }
            }
            writer.name("created")
            writer.value(record.created)
            writer.name("modified")
            writer.value(record.modified)
            if let sharing = record.sharing { writer.members(of: sharing) }
        }
    }
}

// MARK: - Options

/// The options of an export.
public struct ExportOptions: Sendable {
    /// The zones to export, with the ids of the database; `nil` for all.
    public var zones: [ZoneID]?
    /// The record types to export; `nil` for all.
    public var recordTypes: Set<Name>?
    /// The handle of the database's user.
    public var userHandle: String?
    /// False to omit the user's subscriptions, for a copy beside the original.
    public var hasSubscriptions: Bool
    /// True to keep assets in the records, by checksum and size, even without a folder for their bytes.
    var namesAssets = false

    public init(
        zones: [ZoneID]? = nil, recordTypes: Set<Name>? = nil, userHandle: String? = nil, hasSubscriptions: Bool = true
    ) {
        self.zones = zones
        self.recordTypes = recordTypes
        self.userHandle = userHandle
        self.hasSubscriptions = hasSubscriptions
    }
}

// MARK: - Result

/// The result of an export.
public struct ExportReport: Sendable, Hashable {
    public var records: Int
    /// The number of records by type.
    public var types: [Name: Int] = [:]
    public var zones: [ZoneID]
    public var recordTypes: [Name]
    /// The assets in the exported records, and their files in the folder.
    public var assets = AssetCount()
    /// The assets that were omitted because there was no folder for their bytes.
    public var leftOut = AssetCount()
    /// The records whose earlier state is not known, and which were omitted.
    public var notKnown = NotKnown()

    public struct AssetCount: Sendable, Hashable {
        /// The number of assets in records. Several may have the same bytes.
        public var references = 0
        /// The number of distinct files.
        public var files = 0
        /// The total size of the distinct files, in bytes.
        public var bytes: Int64 = 0
    }
}

/// The progress of an export.
public struct ExportProgress: Sendable, Hashable {
    /// The number of records written.
    public var count: Int
    /// The number of records at the start; `nil` if the store keeps no counts.
    public var total: Int?
    /// The number of asset bytes that were fetched or already in the folder.
    public var assetBytes: Int64 = 0
}

/// The reason why an export failed.
public enum ExportError: Error, Sendable, CustomStringConvertible {
    /// The requested data does not exist or is not available, with a message for the user.
    case invalid(String)

    public var description: String {
        switch self {
        case .invalid(let reason): reason
        }
    }
}
