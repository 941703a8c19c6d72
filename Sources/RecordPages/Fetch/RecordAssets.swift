internal import Accounts
internal import AssetStore
package import Console
internal import HTTPServing
internal import HTTPTypes
package import Hummingbird
internal import NIOCore
internal import RecordStore
internal import Records
internal import RemoteRecordStore

/// The asset fields of a record, including empty ones, with the details of each file.
struct RecordAssets: ViewModel {
    struct Field: ViewModel {
        let name: String
        let type: String
        let isList: Bool
        let isEmpty: Bool
        /// The text of the drop area.
        let invitation: String
        /// The id of the field's input, which must be unique on the page.
        let inputID: String
        let files: [AssetFileView]
    }

    let fields: [Field]
    /// False for a container in iCloud: its files are not uploaded from here.
    let takesUploads: Bool
    /// The address of the tab Fetch with the files, which shows their progress and can pause; `nil` if there are none.
    let progress: String?
    /// The address of the form that fetches a mirror's missing files from iCloud; `nil` if there are none.
    let fetch: String?
    /// The data that scripts need for an upload: the database in the web services, the zone, the record and the acting
    /// user.
    let database: String
    let zone: String
    let recordName: String
    let recordType: String
    let tag: String
    let user: String
    /// The size limit of a file, in bytes.
    let limit: String
    let limitText: String
    /// The address of this page.
    let here: String

    /// - Returns: `nil` if the record's type has no asset fields.
    init?(_ record: StoredRecord, links: AssetLinks?, visit: Visit) async throws {
        let zoneID = record.recordID.zoneID
        var types: [Name: FieldType] = [:]
        for (name, definition) in visit.schema?.types[record.recordType]?.fields ?? [:]
        where definition.type.valueType == .asset {
            types[name] = definition.type
        }
        let assets = try record.fields.assets()
        for (field, _) in assets where types[field] == nil { types[field] = .asset }
        if types.isEmpty { return nil }
        let files = try await AssetFileView.all(assets, of: record, links: links, visit: visit)
        fields = types.sorted { $0.key < $1.key }.enumerated().map { index, field in
            let own = zip(assets, files).filter { $0.0.field == field.key }.map(\.1)
            let isList = field.value.isList
            let invitation =
                isList
                ? "Drop files here to add them, or"
                : own.isEmpty ? "Drop a file here, or" : "Drop a file here to replace it, or"
            return Field(
                name: field.key.string, type: field.value.label, isList: isList, isEmpty: own.isEmpty,
                invitation: invitation,
                inputID: "upload-\(index + 1)", files: own)
        }
        takesUploads = visit.connection == nil && visit.earlier == nil
        fetch =
            visit.origin != nil && files.contains { $0.complaint != nil }
            ? visit.place.inZone(zoneID).link("mirror/files") : nil
        let name = record.recordID.recordName.string
        progress =
            files.isEmpty
            ? nil : visit.place.inZone(zoneID).link(Tab.fetch.rawValue, [("names", name), ("assets", "with")])
        let address = visit.place.address
        database = "/database/1/\(address.container)/\(address.environment.rawValue)/\(address.scope.rawValue)"
        zone = Self.json(zoneID)
        recordName = name
        recordType = record.recordType.string
        tag = record.recordChangeTag
        // Uses the record name, because user handles may contain characters that HTTP headers can't carry.
        user = visit.people.actor.userRecordName.string
        limit = String(visit.assets.sizeLimit)
        limitText = Digits.bytes(visit.assets.sizeLimit)
        here = visit.place.link(toRecord: record.recordID.recordName, in: zoneID)
    }

    private static func json(_ zoneID: ZoneID) -> String {
        var writer = JSONWriter()
        writer.value(zoneID)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

// MARK: - Files

/// A file of a record, with its details.
struct AssetFileView: ViewModel {
    struct Use: ViewModel {
        let recordName: String
        let field: String
        /// `nil` for the record of the page.
        let href: String?
        /// The zone, if it differs.
        let zone: String?
    }

    struct Uses: ViewModel {
        let title: String
        let visible: [Use]
        let more: String?
    }

    /// The maximum number of other references to the same bytes.
    private static let useLimit = 20
    /// The size limit of pictures that the page shows directly, in bytes.
    private static let thumbnailLimit: Int64 = 8_000_000

    let name: String
    let href: String
    let size: String
    /// The size in bytes; `nil` if the formatted size is already exact.
    let exactSize: String?
    let bytes: String
    let checksum: String
    /// The detected file type; `nil` if the file can't be read.
    let type: String?
    let stored: String?
    let isPicture: Bool
    let uses: Uses?
    /// The reason why the file can't be read.
    let complaint: PageError?
    /// The asset in the format of the web services. A save with this value keeps the file.
    let json: String

    /// - Returns: a view for each asset, in the given order.
    static func all(
        _ assets: [(field: Name, asset: Asset)], of record: StoredRecord, links: AssetLinks?, visit: Visit
    ) async throws -> [AssetFileView] {
        if visit.connection != nil {
            return zip(assets, ConnectedFile.addresses(of: assets, of: record.recordID, visit.place)).map {
                AssetFileView($0.asset, in: $0.field, href: $1)
            }
        }
        guard let links, !assets.isEmpty else { return [] }
        let address = visit.place.address
        let store = try await visit.measure { try await visit.assets.store(address.container, address.environment) }
        var views: [AssetFileView] = []
        for (field, asset) in assets {
            views.append(
                try await AssetFileView(asset, in: field, of: record, store: store, links: links, visit: visit))
        }
        return views
    }

    /// A file in iCloud, of which only the record tells.
    private init(_ asset: Asset, in field: Name, href: String) {
        name = asset.shownName(in: field)
        self.href = href
        size = Digits.bytes(asset.size)
        exactSize = asset.size < 1000 ? nil : "\(Digits.grouped(asset.size)) bytes"
        bytes = String(asset.size)
        checksum = asset.fileChecksum
        json = Self.json(asset)
        (type, stored, isPicture, uses, complaint) = (nil, nil, false, nil, nil)
    }

    private init(
        _ asset: Asset, in field: Name, of record: StoredRecord, store: AssetStore, links: AssetLinks, visit: Visit
    ) async throws {
        name = asset.shownName(in: field)
        href = links.downloadURL(of: asset, in: field)
        size = Digits.bytes(asset.size)
        exactSize = asset.size < 1000 ? nil : "\(Digits.grouped(asset.size)) bytes"
        bytes = String(asset.size)
        checksum = asset.fileChecksum
        json = Self.json(asset)
        guard let checksum = FileChecksum(asset.fileChecksum) else {
            (type, stored, isPicture, uses) = (nil, nil, false, nil)
            complaint = PageError(
                RecordError(.notFound, "The checksum is not from this server; the file was never uploaded here"),
                advice: ["Upload the file again."])
            return
        }
        if visit.database.can(.traceAssets) {
            let found = try await visit.measure {
                try await visit.database.require(.traceAssets).uses(of: checksum, limit: Self.useLimit)
            }
            uses = Uses(found, of: record, in: field, visit: visit)
        } else {
            uses = nil
        }
        do {
            let facts = try await visit.measure { try await store.facts(of: checksum) }
            type = facts.type.mediaType
            stored = Self.stored(facts)
            isPicture = facts.type.preview == .image && asset.size <= Self.thumbnailLimit
            complaint = nil
        } catch let error as RecordError {
            (type, stored, isPicture) = (nil, nil, false)
            complaint = PageError(error)
        }
    }

    private static func stored(_ facts: AssetFacts) -> String {
        guard let compressed = facts.compressedSize, facts.size > 0 else {
            return "\(Digits.bytes(facts.size)), not compressed"
        }
        let percent = Double(compressed) / Double(facts.size) * 100
        return
            "\(Digits.bytes(facts.size)), and \(Digits.bytes(compressed)) compressed, \(Digits.fixed(percent, percent < 10 ? 1 : 0)) %"
    }

    private static func json(_ asset: Asset) -> String {
        var writer = JSONWriter()
        writer.value(.asset(asset))
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension AssetFileView.Uses {
    fileprivate init(_ uses: AssetUses, of record: StoredRecord, in field: Name, visit: Visit) {
        let others = uses.visible.map { AssetFileView.Use($0, of: record, visit: visit) }
        title = uses.total == 1 ? "only this field" : "\(Digits.grouped(uses.total)) fields, stored once"
        visible = uses.total == 1 ? [] : others
        let left = uses.total - others.count
        more = left > 0 ? "\(Digits.grouped(left)) more, or of other users" : nil
    }
}

extension AssetFileView.Use {
    fileprivate init(_ use: AssetUse, of record: StoredRecord, visit: Visit) {
        let scope: DatabaseScope =
            use.isPublic
            ? .public
            : use.zoneID.ownerRecordName.map { $0 == visit.people.actor.userRecordName } ?? true ? .private : .shared
        let there = visit.place.with { $0.address.scope = scope }
        let isHere =
            there.address.scope == visit.place.address.scope && visit.place.isSame(use.zoneID, record.recordID.zoneID)
        recordName = use.recordName.string
        self.field = use.fieldName.string
        href =
            isHere && use.recordName == record.recordID.recordName
            ? nil : there.link(toRecord: use.recordName, in: use.zoneID)
        zone =
            isHere
            ? nil : "in zone \(use.zoneID.zoneName)\(scope == visit.place.address.scope ? "" : ", \(scope.rawValue)")"
    }
}

// MARK: - Files in iCloud

/// A file of a record in iCloud. The console passes it on, because CloudKit's own addresses expire within the hour.
package enum ConnectedFile {
    /// The address of a file.
    /// - Parameter index: the place in a list of assets.
    static func address(_ field: Name, at index: Int, of recordID: RecordID, _ place: Place) -> String {
        place.inZone(recordID.zoneID).link(
            "record/file", [("name", recordID.recordName.string), ("field", field.string), ("index", String(index))])
    }

    /// The addresses of a record's files, in the order of ``FieldsText/assets()``.
    static func addresses(of assets: [(field: Name, asset: Asset)], of recordID: RecordID, _ place: Place) -> [String] {
        var counts: [Name: Int] = [:]
        return assets.map { asset in
            let index = counts[asset.field, default: 0]
            counts[asset.field] = index + 1
            return address(asset.field, at: index, of: recordID, place)
        }
    }

    /// - Throws: `RecordError` NOT_FOUND if the record has no such file.
    package static func response(_ visit: Visit) async throws -> Response {
        try await Response.orRefusal { try await file(visit) }
    }

    private static func file(_ visit: Visit) async throws -> Response {
        guard let database = try visit.cloudKit() else {
            throw RecordError(.notFound, "The files of this container have addresses of their own")
        }
        guard let name = visit.fields.text("name").map({ Name($0) }),
            let field = visit.fields.text("field").map({ Name($0) }),
            let zoneID = visit.place.zoneID, case let index = visit.fields.number("index", in: 0...Int.max) ?? 0
        else { throw RecordError(.badRequest, "The address needs the record's name, its zone, and a field") }
        let recordID = RecordID(recordName: name, zoneID: zoneID)
        let record = try await RecordView.record(name, in: zoneID, visit: visit)
        let assets = try record.fields.assets().filter { $0.field == field }
        guard assets.indices.contains(index) else { throw RecordError(.notFound, "The record has no such file") }
        let asset = assets[index].asset
        guard asset.size >= 0 else { throw RecordError(.internalError, "iCloud does not tell the size of the file") }
        let body = ResponseBody(contentLength: Int(clamping: asset.size)) { writer in
            var left = asset.size
            try await database.download(field, at: index, of: recordID) { part in
                left -= Int64(part.readableBytes)
                // The record may have another file by now. Bytes after the announced ones would be taken for the next
                // answer.
                guard left >= 0 else { throw RecordError(.conflict, "The file was replaced while it was read") }
                try await writer.write(part)
            }
            guard left == 0 else { throw RecordError(.conflict, "The file was replaced while it was read") }
            try await writer.finish(nil)
        }
        let fileName = PercentEncoding.encoded(AssetFileName.safe(asset.fileName ?? field.string))
        return Response(
            status: .ok,
            headers: [
                .contentType: "application/octet-stream", .cacheControl: "no-store",
                .contentDisposition: "attachment; filename*=UTF-8''\(fileName)",
            ], body: body)
    }
}
