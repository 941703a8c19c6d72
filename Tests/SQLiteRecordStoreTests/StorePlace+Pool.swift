import GRDB
import Records

@testable import SQLiteRecordStore

extension StorePlace {
    /// The connections of a store that is open for writing.
    var pool: DatabasePool {
        get throws {
            guard let store = openStore else { throw RecordError.storeClosed }
            return store.pool
        }
    }

    /// True if nothing was saved yet, so that there is no file.
    var isAbsent: Bool { (try? StoreInspection.look(at: key, in: settings.folder)) == .nothing }
}
