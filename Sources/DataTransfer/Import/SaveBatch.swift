internal import JSON
internal import Records

/// Records of one zone that are saved together, each with its position in a file.
struct SaveBatch: Sendable {
    /// Operations per request, CloudKit's maximum.
    static let operationLimit = 200
    /// The approximate size in bytes above which a batch is full, well below the 32 MiB that a server accepts per request.
    static let sizeLimit = 4 << 20

    let zoneID: ZoneID
    private(set) var operations: [RecordOperation] = []
    private(set) var places: [(file: String, line: Int)] = []
    private var size = 0
    private var assetBytes: Int64 = 0
    /// The limit for asset files in bytes. They are uploaded before the batch is saved, and their receipts are valid for an hour.
    private static let assetLimit: Int64 = 256 << 20

    init(zoneID: ZoneID) {
        self.zoneID = zoneID
    }

    var isFull: Bool { operations.count >= Self.operationLimit || size > Self.sizeLimit || assetBytes > Self.assetLimit }

    /// - Parameters:
    ///   - size: the approximate size of the record, in bytes.
    ///   - assetBytes: the size of the record's files, in bytes.
    mutating func add(_ operation: RecordOperation, size: Int, assetBytes: Int64 = 0, file: String, line: Int) {
        self.assetBytes = self.assetBytes.addingSaturated(assetBytes)
        operations.append(operation)
        places.append((file, line))
        self.size += size
    }
}
