internal import JSON
internal import Records

/// Checks of references that wait until all operations of a batch are done.
struct DeferredChecks {
    /// The rule that a record has to meet.
    enum Rule {
        /// It is there, for a field refers to it with VALIDATE.
        case target(field: Name)
        /// It is there, for a record was saved with it as its parent.
        case parent
        /// It is there again, or nothing refers to it with VALIDATE any more.
        case notValidated
    }

    enum Kind: Hashable { case target, parent, notValidated }

    /// Equal for checks that have the same answer.
    struct Question: Hashable {
        let kind: Kind
        let zone: Int64
        let name: Name
    }

    struct Check {
        let index: Int
        let rule: Rule
        let zone: TransactionZone
        let question: Question
    }

    private(set) var all: [Check] = []

    mutating func add(_ rule: Rule, _ name: Name, in zone: TransactionZone, at index: Int) {
        all.append(Check(index: index, rule: rule, zone: zone, question: Question(kind: rule.kind, zone: zone.key, name: name)))
    }
}

extension DeferredChecks.Rule {
    fileprivate var kind: DeferredChecks.Kind {
        switch self {
        case .target: .target
        case .parent: .parent
        case .notValidated: .notValidated
        }
    }
}

extension DeferredChecks.Check {
    var failure: RecordError {
        switch rule {
        case .target(let field):
            RecordError(
                .validatingReferenceError, "The reference in field '\(field)' has action VALIDATE and its target '\(question.name)' does not exist")
        case .parent:
            RecordError(
                .validatingReferenceError,
                "The parent '\(question.name)' does not exist in the zone; save it before its child, or in the same request")
        case .notValidated: RecordError(.validatingReferenceError, "Record delete would violate validating reference, rejecting update")
        }
    }
}
