public import JSON
public import Records

/// What an export wrote.
public struct ExportReport: Sendable, Hashable {
    public var records: Int
    public var zones: [ZoneID]
    public var recordTypes: [Name]
}
