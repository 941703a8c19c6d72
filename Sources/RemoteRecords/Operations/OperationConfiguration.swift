public import Foundation

/// Foundation's `QualityOfService`: the urgency of an operation. It determines the order of requests, how many run at
/// the same time, and whether the operation waits while the connection is broken.
///
/// - `background`: at most one such request runs at a time, after all others. The operation waits for the network.
/// - `utility`, the default of operations: leaves one of the simultaneous requests to operations that a user waits for.
///   The operation waits for the network.
/// - `userInitiated`, the default of the calls of ``Database``: a user waits for the operation. If the connection fails
///   for the time of one request, the operation fails.
/// - `userInteractive`: runs before everything else, and otherwise like `userInitiated`.
/// - `default`: like `nil`.
public typealias QualityOfService = Foundation.QualityOfService

extension QualityOfService {
    /// Greater for more urgent operations.
    var urgency: Int {
        switch self {
        case .background: 0
        case .userInitiated: 2
        case .userInteractive: 3
        default: 1
        }
    }

    /// True if the operation waits while the connection is broken, until the time for the whole operation is over.
    var isDiscretionary: Bool { urgency < QualityOfService.userInitiated.urgency }

    var taskPriority: TaskPriority {
        switch self {
        case .background: .background
        case .userInitiated: .medium
        case .userInteractive: .high
        default: .utility
        }
    }
}

/// The order of operations that have the same quality of service.
public enum QueuePriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// From last to first.
    case veryLow, low, normal, high, veryHigh

    public static func < (left: QueuePriority, right: QueuePriority) -> Bool { left.rawValue < right.rawValue }
}

/// The configuration of an operation. If a property is `nil`, the value of the operation's group applies, and otherwise
/// CloudKit's default.
///
/// `allowsCellularAccess` of CloudKit is missing: a program on Linux cannot tell.
public struct OperationConfiguration: Sendable, Hashable {
    /// The urgency of the operation; `nil` for the value of the group, or else the default.
    public var qualityOfService: QualityOfService?
    /// The order among operations with the same quality of service; `nil` for the value of the group, or else `normal`.
    public var queuePriority: QueuePriority?
    /// The time for a request with all its repetitions; `nil` for the value of the group, or else 60 seconds.
    public var timeoutIntervalForRequest: Duration?
    /// The time for the whole operation with its files, counted from its first request; `nil` for the value of the
    /// group, or else seven days.
    public var timeoutIntervalForResource: Duration?

    /// Creates a configuration. A `nil` property has the value of the group, or else the default.
    public init(
        qualityOfService: QualityOfService? = nil, queuePriority: QueuePriority? = nil,
        timeoutIntervalForRequest: Duration? = nil,
        timeoutIntervalForResource: Duration? = nil
    ) {
        self.qualityOfService = qualityOfService
        self.queuePriority = queuePriority
        self.timeoutIntervalForRequest = timeoutIntervalForRequest
        self.timeoutIntervalForResource = timeoutIntervalForResource
    }

    /// The urgency; `nil` for the default.
    var chosenQuality: QualityOfService? { qualityOfService == .default ? nil : qualityOfService }

    /// A copy in which `nil` properties have the values of another configuration.
    func or(_ other: OperationConfiguration?) -> OperationConfiguration {
        OperationConfiguration(
            qualityOfService: chosenQuality ?? other?.qualityOfService,
            queuePriority: queuePriority ?? other?.queuePriority,
            timeoutIntervalForRequest: timeoutIntervalForRequest ?? other?.timeoutIntervalForRequest,
            timeoutIntervalForResource: timeoutIntervalForResource ?? other?.timeoutIntervalForResource)
    }
}

/// Operations that belong together, such as those of one sync. They share a configuration. A group is not a
/// transaction.
public struct OperationGroup: Sendable, Hashable {
    /// The expected amount of data of a group, in the size classes of CloudKit.
    public enum TransferSize: Int, Sendable, Hashable, CaseIterable {
        /// The size classes, from unknown to hundreds of gigabytes.
        case unknown, kilobytes, megabytes, tensOfMegabytes, hundredsOfMegabytes, gigabytes, tensOfGigabytes,
            hundredsOfGigabytes
    }

    /// The ID of the group, a new UUID.
    public let operationGroupID: String
    /// A name for people to read, such as `First launch`.
    public var name: String?
    /// The number of items that the operations process. The app defines what it counts.
    public var quantity: Int?
    /// The expected size of the data to send. It has no effect.
    public var expectedSendSize = TransferSize.unknown
    /// The expected size of the data to receive. It has no effect.
    public var expectedReceiveSize = TransferSize.unknown
    /// The configuration of operations in this group, for properties that their own configuration leaves `nil`.
    public var defaultConfiguration: OperationConfiguration

    /// Creates a group with a new ID.
    public init(name: String? = nil, defaultConfiguration: OperationConfiguration = OperationConfiguration()) {
        operationGroupID = UUID().uuidString
        self.name = name
        self.defaultConfiguration = defaultConfiguration
    }
}
