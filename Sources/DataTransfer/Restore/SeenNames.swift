internal import JSON
internal import Records

/// Detects duplicate records in a file.
///
/// Exports are sorted by name. While the names of a zone ascend, there can be no duplicates, so only the last name is kept.
struct SeenNames {
    enum Finding {
        case new
        case taken(line: Int)
        /// The names do not ascend, so all must be kept to detect duplicates.
        case unknown
    }

    private let keepsAll: Bool
    private var last: [ZoneID: (name: Name, line: Int)] = [:]
    private var all: [ZoneID: [Name: Int]] = [:]

    /// - Parameter keepsAll: true to keep every name, for unsorted files.
    init(keepsAll: Bool) {
        self.keepsAll = keepsAll
    }

    mutating func note(_ name: Name, in zoneID: ZoneID, line: Int) -> Finding {
        if keepsAll {
            if let taken = all[zoneID]?[name] { return .taken(line: taken) }
            all[zoneID, default: [:]][name] = line
            return .new
        }
        if let last = last[zoneID] {
            if last.name == name { return .taken(line: last.line) }
            if name < last.name { return .unknown }
        }
        last[zoneID] = (name, line)
        return .new
    }
}
