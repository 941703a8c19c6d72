internal import JSON
internal import Records

/// Records of one zone that are saved together, each with its place in a file.
struct SaveBatch: Sendable {
    /// Operations in one request, the most that CloudKit takes.
    static let operationLimit = 200
    /// Bytes; a request to a server may be no larger.
    static let sizeLimit = 4 << 20

    let zoneID: ZoneID
    private(set) var operations: [RecordOperation] = []
    private(set) var places: [(file: String, line: Int)] = []
    private var size = 0
    private var assetBytes: Int64 = 0
    /// Bytes of files that are uploaded before the batch is saved: their receipts are good for an hour.
    private static let assetLimit: Int64 = 256 << 20

    init(zoneID: ZoneID) {
        self.zoneID = zoneID
    }

    var isFull: Bool { operations.count >= Self.operationLimit || size > Self.sizeLimit || assetBytes > Self.assetLimit }

    /// - Parameters:
    ///   - size: of the record in bytes, roughly.
    ///   - assetBytes: of the files that belong to it.
    mutating func add(_ operation: RecordOperation, size: Int, assetBytes: Int64 = 0, file: String, line: Int) {
        self.assetBytes = self.assetBytes.addingSaturated(assetBytes)
        operations.append(operation)
        places.append((file, line))
        self.size += size
    }
}
