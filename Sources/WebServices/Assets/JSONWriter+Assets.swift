internal import JSON
internal import RecordStore
internal import Records

extension JSONWriter {
    /// The members of an asset as a record can be saved with it: unlike in a record, with its receipt.
    mutating func members(ofUploaded asset: Asset) {
        member("fileChecksum", asset.fileChecksum)
        member("size", asset.size)
        if let checksum = asset.referenceChecksum { member("referenceChecksum", checksum) }
        if let key = asset.wrappingKey { member("wrappingKey", key) }
        if let receipt = asset.receipt { member("receipt", receipt) }
        if let fileName = asset.fileName { member("fileName", fileName) }
    }

    /// A field of a record that refers to bytes.
    mutating func value(_ use: AssetUse) {
        object { writer in
            writer.member("database", use.isPublic ? "public" : "private")
            writer.name("zoneID")
            writer.value(use.zoneID)
            writer.member("recordName", use.recordName)
            writer.member("recordType", use.recordType)
            writer.member("fieldName", use.fieldName)
        }
    }
}
