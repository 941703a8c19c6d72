internal import Accounts
internal import AssetStore
internal import Console
internal import JSON
internal import RecordStore
internal import Records

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
    /// The data that scripts need for an upload: the database in the web services, the zone, the record and the acting user.
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
        for (name, definition) in visit.schema?.types[record.recordType]?.fields ?? [:] where definition.type.valueType == .asset {
            types[name] = definition.type
        }
        let assets = try record.fields.assets()
        for (field, _) in assets where types[field] == nil { types[field] = .asset }
        if types.isEmpty { return nil }
        let files = try await AssetFileView.all(assets, of: record, links: links, visit: visit)
        fields = types.sorted { $0.key < $1.key }.enumerated().map { index, field in
            let own = zip(assets, files).filter { $0.0.field == field.key }.map(\.1)
            let isList = field.value.isList
            let invitation = isList ? "Drop files here to add them, or" : own.isEmpty ? "Drop a file here, or" : "Drop a file here to replace it, or"
            return Field(
                name: field.key.string, type: field.value.label, isList: isList, isEmpty: own.isEmpty, invitation: invitation,
                inputID: "upload-\(index + 1)", files: own)
        }
        takesUploads = visit.connection == nil
        fetch = visit.origin != nil && files.contains { $0.complaint != nil } ? visit.place.inZone(zoneID).link("mirror/files") : nil
        let name = record.recordID.recordName.string
        progress = files.isEmpty ? nil : visit.place.inZone(zoneID).link(Tab.fetch.rawValue, [("names", name), ("assets", "with")])
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
