internal import JSON
internal import Records
internal import RecordStore

/// An event in a demo container.
struct DemoEvent: Sendable {
    enum Action: Sendable {
        case save([RecordOperation], attachments: [DemoAttachment], zoneID: ZoneID, scope: DatabaseScope, device: String)
        case zones([ZoneOperation])
        case accept(Name, zoneID: ZoneID, owner: Name)
        case purge(ZoneID)
        case setKeys([Name: PropertyValue])
    }

    let moment: Timestamp
    /// The acting user.
    let user: Name
    let action: Action

    /// - Parameter attachments: the files of some of the records.
    static func save(
        _ operations: [RecordOperation], with attachments: [DemoAttachment] = [], in zoneID: ZoneID, of scope: DatabaseScope = .private, as user: Name,
        on device: String, at moment: Timestamp
    ) -> DemoEvent {
        DemoEvent(moment: moment, user: user, action: .save(operations, attachments: attachments, zoneID: zoneID, scope: scope, device: device))
    }

    static func zones(_ operations: [ZoneOperation], as user: Name, at moment: Timestamp) -> DemoEvent {
        DemoEvent(moment: moment, user: user, action: .zones(operations))
    }

    /// - Parameter share: the record that holds the share, in the owner's zone.
    static func accept(_ share: Name, in zoneID: ZoneID, of owner: Name, as user: Name, at moment: Timestamp) -> DemoEvent {
        DemoEvent(moment: moment, user: user, action: .accept(share, zoneID: zoneID, owner: owner))
    }

    static func purge(_ zoneID: ZoneID, of owner: Name, at moment: Timestamp) -> DemoEvent {
        DemoEvent(moment: moment, user: owner, action: .purge(zoneID))
    }

    static func setKeys(_ values: [Name: PropertyValue], of user: Name, at moment: Timestamp) -> DemoEvent {
        DemoEvent(moment: moment, user: user, action: .setKeys(values))
    }
}

/// The schema and the events of a demo container. The events are in no particular order.
struct DemoStory: Sendable {
    let container: String
    /// Empty if saves create the schema.
    let types: [RecordType]
    let events: [DemoEvent]
}

/// Files of a demo record.
struct DemoAttachment: Sendable {
    let recordName: Name
    let fieldName: Name
    let files: [DemoFile]
    /// True if the field is a list of assets.
    let isList: Bool

    static func one(_ file: DemoFile, _ fieldName: Name, of recordName: Name) -> DemoAttachment {
        DemoAttachment(recordName: recordName, fieldName: fieldName, files: [file], isList: false)
    }

    static func list(_ files: [DemoFile], _ fieldName: Name, of recordName: Name) -> DemoAttachment {
        DemoAttachment(recordName: recordName, fieldName: fieldName, files: files, isList: true)
    }
}
