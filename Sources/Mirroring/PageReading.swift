internal import CloudKitClient
internal import JSON
internal import Records
internal import RecordStore

/// The records of an answer on their way into the mirror.
struct PageReading {
    /// The zone in the mirror.
    let zoneID: ZoneID
    private(set) var changes: [OriginVersion] = []
    /// As they came, with the addresses of their files.
    private(set) var received: [Name: ReceivedRecord] = [:]
    private(set) var savedNames: [Name] = []
    private var failures: [MirrorProblem] = []
    private var leftOut: [Name: Set<Name>] = [:]

    init(zoneID: ZoneID) {
        self.zoneID = zoneID
    }

    var problems: [MirrorProblem] {
        failures + leftOut.sorted { $0.key < $1.key }.map { .fields($0.value, of: $0.key) }
    }

    mutating func add(_ record: ReceivedRecord) {
        let name = record.recordID.recordName
        // The origin has it, even if it can't be stored here.
        savedNames.append(name)
        do {
            changes.append(.saved(try record.mirrored(in: zoneID, leftOut: &leftOut)))
            received[name] = record
        } catch {
            fail(name, error.reason)
        }
    }

    mutating func delete(_ name: Name) {
        changes.append(.deleted(RecordID(recordName: name, zoneID: zoneID)))
    }

    mutating func fail(_ name: Name, _ reason: String) {
        failures.append(.record(RecordID(recordName: name, zoneID: zoneID), reason: reason))
    }
}
