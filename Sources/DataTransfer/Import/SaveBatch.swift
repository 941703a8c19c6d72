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

    init(zoneID: ZoneID) {
        self.zoneID = zoneID
    }

    var isFull: Bool { operations.count >= Self.operationLimit || size > Self.sizeLimit }

    /// - Parameter size: of the record in bytes, roughly.
    mutating func add(_ operation: RecordOperation, size: Int, file: String, line: Int) {
        operations.append(operation)
        places.append((file, line))
        self.size += size
    }
}
