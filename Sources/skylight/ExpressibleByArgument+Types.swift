public import ArgumentParser
public import DataTransfer
public import HTTPServing
public import Logging
public import Mirroring
public import Records
public import RecordStore

// Types of lower layers as option values.

extension Environment: ExpressibleByArgument {}
extension DatabaseScope: ExpressibleByArgument {}
extension AccessControl.Mode: ExpressibleByArgument {}
extension FileFormat: ExpressibleByArgument {}
extension MirrorOptions.Files: ExpressibleByArgument {}
extension Subscription.Event: ExpressibleByArgument {}
extension Logger.Level: @retroactive ExpressibleByArgument {}

extension ZoneParticipant.Permission: ExpressibleByArgument {
    public init?(argument: String) {
        switch argument.lowercased() {
        case "read-only", "read_only": self = .readOnly
        case "read-write", "read_write": self = .readWrite
        default: return nil
        }
    }

    public static var allValueStrings: [String] { allCases.map(\.defaultValueDescription) }

    public var defaultValueDescription: String { self == .readOnly ? "read-only" : "read-write" }
}
