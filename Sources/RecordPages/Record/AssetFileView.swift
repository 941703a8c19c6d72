internal import Accounts
internal import AssetStore
internal import Console
internal import JSON
internal import RecordStore
internal import Records

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
    let complaint: Complaint?
    /// The asset in the format of the web services. A save with this value keeps the file.
    let json: String

    /// - Returns: a view for each asset, in the given order.
    static func all(
        _ assets: [(field: Name, asset: Asset)], of record: StoredRecord, links: AssetLinks?, visit: Visit
    ) async throws -> [AssetFileView] {
        if visit.connection != nil {
            return zip(assets, ConnectedFile.addresses(of: assets, of: record.recordID, visit.place)).map { AssetFileView($0.asset, in: $0.field, href: $1) }
        }
        guard let links, !assets.isEmpty else { return [] }
        let address = visit.place.address
        let store = try await visit.measure { try await visit.assets.store(address.container, address.environment) }
        var views: [AssetFileView] = []
        for (field, asset) in assets {
            views.append(try await AssetFileView(asset, in: field, of: record, store: store, links: links, visit: visit))
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

    private init(_ asset: Asset, in field: Name, of record: StoredRecord, store: AssetStore, links: AssetLinks, visit: Visit) async throws {
        name = asset.shownName(in: field)
        href = links.downloadURL(of: asset, in: field)
        size = Digits.bytes(asset.size)
        exactSize = asset.size < 1000 ? nil : "\(Digits.grouped(asset.size)) bytes"
        bytes = String(asset.size)
        checksum = asset.fileChecksum
        json = Self.json(asset)
        guard let checksum = FileChecksum(asset.fileChecksum) else {
            (type, stored, isPicture, uses) = (nil, nil, false, nil)
            complaint = Complaint(
                RecordError(.notFound, "The checksum is not from this server; the file was never uploaded here"),
                advice: ["Upload the file again."])
            return
        }
        if visit.database.can(.traceAssets) {
            let found = try await visit.measure { try await visit.database.uses(of: checksum, limit: Self.useLimit) }
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
            complaint = Complaint(error)
        }
    }

    private static func stored(_ facts: AssetFacts) -> String {
        guard let compressed = facts.compressedSize, facts.size > 0 else { return "\(Digits.bytes(facts.size)), not compressed" }
        let percent = Double(compressed) / Double(facts.size) * 100
        return "\(Digits.bytes(facts.size)), and \(Digits.bytes(compressed)) compressed, \(Digits.fixed(percent, percent < 10 ? 1 : 0)) %"
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
            use.isPublic ? .public : use.zoneID.ownerRecordName.map { $0 == visit.people.actor.userRecordName } ?? true ? .private : .shared
        let there = visit.place.with { $0.address.scope = scope }
        let isHere = there.address.scope == visit.place.address.scope && visit.place.isSame(use.zoneID, record.recordID.zoneID)
        recordName = use.recordName.string
        self.field = use.fieldName.string
        href = isHere && use.recordName == record.recordID.recordName ? nil : there.link(toRecord: use.recordName, in: use.zoneID)
        zone = isHere ? nil : "in zone \(use.zoneID.zoneName)\(scope == visit.place.address.scope ? "" : ", \(scope.rawValue)")"
    }
}
