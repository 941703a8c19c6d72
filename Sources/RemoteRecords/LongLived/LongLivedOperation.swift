internal import Foundation
public import JSON
internal import Records

/// An operation that outlives the process: it is kept before it begins, and so is each outcome before it is told.
public protocol LongLivedOperation: DatabaseOperation where Output == Void {
    /// Such as `ModifyRecords`.
    static var kind: String { get }
    /// The parameters.
    var json: JSONObject { get }
    /// The operation with kept parameters.
    init(json: JSONObject) throws
    /// - Returns: `nil` for an event that is not kept, such as progress.
    static func json(of event: Event) -> JSONObject?
    /// A kept event.
    static func event(of json: JSONObject) throws -> Event
    /// The operation without what these events say is done.
    func remaining(after events: [Event]) -> Self
    /// The errors of items in these events.
    static func errors(of events: [Event]) -> [OperationError.Item: OperationError]
}

extension ModifyRecords: LongLivedOperation {
    public static var kind: String { "ModifyRecords" }

    public var json: JSONObject {
        var object = JSONObject()
        object["save"] = .array(recordsToSave.map { .object($0.json) })
        object["delete"] = .array(recordIDsToDelete.map { .object($0.json) })
        object["savePolicy"] = .string(savePolicy.rawValue)
        object["isAtomic"] = .bool(isAtomic)
        return object
    }

    public init(json: JSONObject) throws {
        guard case .string(let name)? = json["savePolicy"], let savePolicy = SavePolicy(rawValue: name) else { throw UnreadableRecord() }
        self.init(
            saving: try json.objects("save").map { try Record(json: $0) }, deleting: try json.objects("delete").map { try RecordID(json: .object($0)) },
            savePolicy: savePolicy, isAtomic: json["isAtomic"] == .bool(true))
    }

    public static func json(of event: Event) -> JSONObject? {
        switch event {
        case .progress: nil
        case .saved(let recordID, let result):
            JSONObject.kept(recordID, ["event": "saved"]).adding(result) { $0.json }
        case .deleted(let recordID, let result):
            JSONObject.kept(recordID, ["event": "deleted"]).adding(result) { _ in JSONObject() }
        }
    }

    public static func event(of json: JSONObject) throws -> Event {
        let recordID = try RecordID(json: json["recordID"])
        if json["event"] == "deleted" { return .deleted(recordID, try json.result { _ in }) }
        return .saved(recordID, try json.result { try Record(json: $0) })
    }

    public func remaining(after events: [Event]) -> ModifyRecords {
        let done = Set(
            events.compactMap { event -> RecordID? in
                switch event {
                case .progress: nil
                case .saved(let recordID, _), .deleted(let recordID, _): recordID
                }
            })
        var operation = self
        operation.recordsToSave.removeAll { done.contains($0.recordID) }
        operation.recordIDsToDelete.removeAll { done.contains($0) }
        return operation
    }

    public static func errors(of events: [Event]) -> [OperationError.Item: OperationError] {
        var errors: [OperationError.Item: OperationError] = [:]
        for event in events {
            switch event {
            case .saved(let recordID, .failure(let error)), .deleted(let recordID, .failure(let error)): errors[.record(recordID)] = error
            default: break
            }
        }
        return errors
    }
}

extension FetchRecords: LongLivedOperation {
    public static var kind: String { "FetchRecords" }

    public var json: JSONObject {
        var object = JSONObject()
        object["recordIDs"] = .array(recordIDs.map { .object($0.json) })
        object["desiredKeys"] = desiredKeys.map { .array($0.sorted().map { .string($0.string) }) }
        object["assetFolder"] = assetFolder.map { .string($0.path(percentEncoded: false)) }
        return object
    }

    public init(json: JSONObject) throws {
        self.init(try json.objects("recordIDs").map { try RecordID(json: .object($0)) })
        if case .array(let names)? = json["desiredKeys"] {
            desiredKeys = Set(names.compactMap { if case .string(let name) = $0 { Name(name) } else { nil } })
        }
        if case .string(let path)? = json["assetFolder"] { assetFolder = URL(filePath: path) }
    }

    public static func json(of event: Event) -> JSONObject? {
        switch event {
        case .progress: nil
        case .fetched(let recordID, let result): JSONObject.kept(recordID, [:]).adding(result) { $0.json }
        }
    }

    public static func event(of json: JSONObject) throws -> Event {
        .fetched(try RecordID(json: json["recordID"]), try json.result { try Record(json: $0) })
    }

    public func remaining(after events: [Event]) -> FetchRecords {
        let done = Set(events.compactMap { if case .fetched(let recordID, _) = $0 { recordID } else { nil } })
        var operation = self
        operation.recordIDs.removeAll { done.contains($0) }
        return operation
    }

    public static func errors(of events: [Event]) -> [OperationError.Item: OperationError] {
        var errors: [OperationError.Item: OperationError] = [:]
        for case .fetched(let recordID, .failure(let error)) in events { errors[.record(recordID)] = error }
        return errors
    }
}
