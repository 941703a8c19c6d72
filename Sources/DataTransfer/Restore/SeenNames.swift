internal import JSON
internal import Records

/// Finds a record that a file holds twice.
///
/// Exports are in the order of their names: while those of a zone ascend, none can come twice and only the last is kept.
struct SeenNames {
    enum Finding {
        case new
        case taken(line: Int)
        /// The names don't ascend, so all must be kept to tell.
        case unknown
    }

    private let keepsAll: Bool
    private var last: [ZoneID: (name: Name, line: Int)] = [:]
    private var all: [ZoneID: [Name: Int]] = [:]

    /// - Parameter keepsAll: whether every name is kept, for files in any order.
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
