internal import JSON
internal import RecordStore
internal import Records

extension JSONWriter {
    /// The members of an uploaded asset, with the receipt that a save requires. Assets in records have no receipt.
    mutating func members(ofUploaded asset: Asset) {
        member("fileChecksum", asset.fileChecksum)
        member("size", asset.size)
        if let checksum = asset.referenceChecksum { member("referenceChecksum", checksum) }
        if let key = asset.wrappingKey { member("wrappingKey", key) }
        if let receipt = asset.receipt { member("receipt", receipt) }
        if let fileName = asset.fileName, Asset.showsFileName { member("fileName", fileName) }
    }

    /// A record field that refers to an asset.
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
