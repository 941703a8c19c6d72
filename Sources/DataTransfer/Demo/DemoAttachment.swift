internal import JSON

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
