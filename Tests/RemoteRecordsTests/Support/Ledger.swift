import Records

/// The changes that devices have acknowledged, and that must not be lost. Each device writes rising numbers to a key of
/// its own, so that a change which was not lost is there, or a later one is.
///
/// A deletion may take changes along. The ledger asks for none of which that can't be ruled out: those before a
/// deletion, those that were made before the server had it, and those of devices that have not fetched since. Moments
/// are numbers of steps of the history.
struct Ledger {
    private struct Deletion {
        let device: Int
        /// The moment at which the server had it for certain.
        var settled: Int?
    }

    private var numbers: [Name: [Name: Int]] = [:]
    private var deletions: [Name: [Deletion]] = [:]
    private var fetches: [Int: Int] = [:]

    /// The moment up to which a device knows what others did.
    func knowledge(of device: Int) -> Int { fetches[device] ?? 0 }

    /// A device has fetched everything.
    mutating func noteFetch(by device: Int, begunAt moment: Int) {
        fetches[device] = moment
    }

    /// A device has acknowledged a change.
    /// - Parameter moment: its knowledge when it made the change.
    mutating func note(_ number: Int, in record: Name, _ key: Name, knowing moment: Int) {
        let isSafe = deletions[record, default: []].allSatisfy { deletion in
            deletion.settled.map { $0 < moment } ?? false
        }
        if isSafe { numbers[record, default: [:]][key] = number }
    }

    mutating func noteDeletion(of record: Name, by device: Int) {
        numbers[record] = nil
        deletions[record, default: []].append(Deletion(device: device))
    }

    /// - Parameter waiting: the records whose deletion the device has not sent for certain. Its other deletions are
    ///   settled.
    mutating func noteWaitingDeletions(_ waiting: Set<Name>, of device: Int, at moment: Int) {
        for (record, known) in deletions where !waiting.contains(record) {
            deletions[record] = known.map { deletion in
                var deletion = deletion
                if deletion.device == device, deletion.settled == nil { deletion.settled = moment }
                return deletion
            }
        }
    }

    /// All devices have fetched and sent everything.
    mutating func noteRest() {
        deletions = [:]
    }

    /// The changes that are neither there nor followed by later ones, in words.
    func lost(from found: [Name: [Name: Int]]) -> [String] {
        numbers.flatMap { record, keys in
            keys.compactMap { key, number in
                let there = found[record]?[key]
                return (there ?? 0) >= number
                    ? nil
                    : "\(record) \(key): \(number) was acknowledged, \(there.map(String.init) ?? "nothing") is there"
            }
        }.sorted()
    }
}
