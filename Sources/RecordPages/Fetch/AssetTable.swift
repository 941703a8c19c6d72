internal import AssetStore
internal import Console
internal import JSON
internal import RecordStore
internal import Records

/// Records with their asset files. Scripts download the files and show the progress of each
/// record, as CKFetchRecordsOperation reports it. Without scripts, the files are links.
struct AssetTable: ViewModel {
    struct Row: ViewModel {
        let recordName: String
        /// `nil` if the record was not found.
        let found: Found?
        let complaint: Complaint?
        let whereabouts: [Whereabouts]
    }

    struct Found: ViewModel {
        let recordHref: String
        /// The zone, if records of all zones are shown.
        let zone: String?
        let type: String
        let typeHref: String
        /// The text for a record without files.
        let nothing: String?
        /// A single file, which is on the record's own line.
        let file: File?
        /// Several files, each on its own line below the record.
        let group: Group?
    }

    struct Group: ViewModel {
        /// The accessible label of the group.
        let label: String
        let isFile = false
        let count: String
        let size: String
        let files: [File]
    }

    struct File: ViewModel {
        let field: String
        let name: String
        let label: String
        let isFile = true
        let href: String
        let size: String
        let bytes: String
        let checksum: String
    }

    let rows: [Row]
    /// False for files in iCloud, whose checksums are of another kind than those that scripts compute.
    let isChecked: Bool
    let fileCount: Int
    let size: String

    init(_ answer: FetchAnswer, visit: Visit) throws {
        var count = 0
        var total: Int64 = 0
        rows = try answer.items.map { recordID, result in
            let name = recordID.recordName.string
            switch result {
            case .failure(let error):
                return Row(recordName: name, found: nil, complaint: Complaint(error), whereabouts: answer.whereabouts[recordID.recordName] ?? [])
            case .success(let record):
                let assets = try record.fields.assets()
                count += assets.count
                total = assets.reduce(total) { $0.addingSaturated($1.asset.size) }
                return Row(recordName: name, found: Found(record, assets, answer, visit: visit), complaint: nil, whereabouts: [])
            }
        }
        isChecked = visit.connection == nil
        fileCount = count
        size = Digits.bytes(total)
    }
}

extension AssetTable.Found {
    fileprivate init(_ record: StoredRecord, _ assets: [(field: Name, asset: Asset)], _ answer: FetchAnswer, visit: Visit) {
        var addresses = answer.links.map { links in assets.map { links.downloadURL(of: $0.asset, in: $0.field) } } ?? []
        if visit.connection != nil { addresses = ConnectedFile.addresses(of: assets, of: record.recordID, visit.place) }
        let files = zip(assets, addresses).map { AssetTable.File($0.asset, in: $0.field, href: $1) }
        let total = assets.reduce(Int64(0)) { $0.addingSaturated($1.asset.size) }
        recordHref = visit.place.link(toRecord: record.recordID.recordName, in: record.recordID.zoneID)
        zone = answer.showsZones ? visit.zoneName(record.recordID.zoneID) : nil
        type = record.recordType.string
        typeHref = visit.place.link("type", [("type", record.recordType.string)])
        nothing = files.isEmpty ? (visit.fields["return"] == "system" ? "not requested" : "no assets") : nil
        file = files.count == 1 ? files.first : nil
        group =
            files.count > 1
            ? AssetTable.Group(
                label: "\(Digits.count(files.count, "asset")) of \(record.recordID.recordName)", count: Digits.count(files.count, "asset"),
                size: Digits.bytes(total), files: files) : nil
    }
}

extension AssetTable.File {
    fileprivate init(_ asset: Asset, in field: Name, href: String) {
        self.field = field.string
        name = asset.shownName(in: field)
        label = name
        self.href = href
        size = Digits.bytes(asset.size)
        bytes = String(asset.size)
        checksum = asset.fileChecksum
    }
}
