internal import JSON

// The services under assets/.

extension AssetsUpload: DescribedService {
    static let described = ServiceDescription(
        "Ask where to upload files", "For each field that is to hold a file an address to send its bytes to, good for 15 minutes.",
        takes: .object(
            ["tokens": .items(of: .object(["recordType": .string, "fieldName": .string], optional: ["recordName": .string]))],
            optional: ["zoneID": .named(.zoneID)]),
        answers: .object([
            "tokens": .array(
                of: .either(
                    .object(["recordName": .string, "fieldName": .string, "url": .string]),
                    .named(.fieldError)))
        ]))
}

extension AssetsRereference: DescribedService {
    static let described = ServiceDescription(
        "Use files of records that exist", "Assets of records, as values that other records can be saved with, without a second upload.",
        takes: .object(
            ["assets": .items(of: .object(["recordName": .string, "fieldName": .string], optional: ["index": .count]))],
            optional: ["zoneID": .named(.zoneID), "targetZoneID": .named(.zoneID)]),
        answers: .object(["assets": .array(of: .either(.named(.uploadedAsset), .named(.fieldError)))]))
}

extension AssetUsesService: DescribedService {
    static let described = ServiceDescription(
        "Find the records that refer to the same bytes",
        takes: .object(["fileChecksum": .fileChecksum], optional: ["resultsLimit": .resultsLimit, "bytesLimit": .count]),
        answers: .object([
            "visible": JSONSchema.array(of: .assetUse).described("Those that the user sees"), "total": JSONSchema.count.described("Those that the user doesn't see included"),
        ]))
}

extension JSONSchema {
    static let fileChecksum = JSONSchema.text(matching: "^[0-9a-f]{64}$")

    static let assetUse = JSONSchema.object([
        "database": .words(["public", "private"]), "zoneID": .named(.zoneID), "recordName": .string, "recordType": .string, "fieldName": .string,
    ])
}
