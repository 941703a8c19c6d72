internal import JSON
internal import RecordStore
internal import Records

// Parts of answers (Apple's reference page "Types and Dictionaries").

extension JSONWriter {
    /// A deleted record.
    mutating func deletion(of recordName: Name) {
        object { writer in
            writer.member("recordName", recordName)
            writer.member("deleted", true)
        }
    }

    /// The error for a record that could not be read or saved.
    mutating func value(_ error: RecordError, recordName: Name?) {
        object { writer in
            if let recordName { writer.member("recordName", recordName) }
            writer.members(of: error)
        }
    }

    /// The error for a zone that could not be read or changed.
    mutating func value(_ error: RecordError, zoneID: ZoneID) {
        object { writer in
            writer.name("zoneID")
            writer.value(zoneID)
            writer.members(of: error)
        }
    }

    /// The members of an error.
    mutating func members(of error: RecordError) {
        member("reason", error.reason)
        member("serverErrorCode", error.code.rawValue)
        if let seconds = error.retryAfter { member("retryAfter", Int64(seconds)) }
    }

    mutating func value(_ zone: Zone) {
        object { writer in
            writer.name("zoneID")
            writer.value(zone.zoneID)
            if let token = zone.syncToken { writer.member("syncToken", token.text) }
            writer.member("atomic", zone.atomic)
        }
    }

    /// A change in a zone's feed.
    mutating func value(_ change: RecordChange, numbersAsStrings: Bool, downloadURL: AssetAddress?, for viewer: Name) throws {
        if change.kind != .deleted, let record = change.record {
            try value(record, numbersAsStrings: numbersAsStrings, downloadURL: downloadURL, for: viewer)
        } else {
            deletion(of: change.recordID.recordName)
        }
    }

    /// The members of a page of a zone's changes.
    mutating func members(of page: ZoneChangesPage, numbersAsStrings: Bool, downloadURL: AssetAddress?, for viewer: Name) throws {
        name("records")
        try array { writer in
            for change in page.changes { try writer.value(change, numbersAsStrings: numbersAsStrings, downloadURL: downloadURL, for: viewer) }
        }
        member("syncToken", page.syncToken.text)
        member("moreComing", page.moreComing)
    }
}
