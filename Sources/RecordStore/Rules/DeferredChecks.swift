internal import JSON
internal import Records

/// Reference checks that run after all operations of a batch.
struct DeferredChecks {
    /// The condition that a record must satisfy.
    enum Rule {
        /// The record is in a hierarchy where the guest may write.
        case reach(isNew: Bool)
        /// The record exists, because a field refers to it with VALIDATE.
        case target(field: Name)
        /// The record exists, because it is the parent of a saved record.
        case parent
        /// The record exists again, or no VALIDATE reference to it is left.
        case notValidated
        /// The record is not among its own ancestors.
        case acyclic
        /// The record is not the root of a share below the root of another one.
        case noShareAbove
        /// The record is not shared, or has no root of another share below it.
        case noShareBelow
    }

    enum Kind: Hashable { case reach, target, parent, notValidated, acyclic, noShareAbove, noShareBelow }

    /// Identifies checks with the same result.
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

    /// A deleted record, which must have no children in the end.
    struct Deletion {
        let index: Int
        let name: Name
        let zone: TransactionZone
        /// False if a cascade goes on later, which may delete children.
        let isComplete: Bool
    }

    private(set) var all: [Check] = []
    var deletions: [Deletion] = []

    mutating func add(_ rule: Rule, _ name: Name, in zone: TransactionZone, at index: Int) {
        all.append(Check(index: index, rule: rule, zone: zone, question: Question(kind: rule.kind, zone: zone.key, name: name)))
    }
}

extension DeferredChecks.Rule {
    fileprivate var kind: DeferredChecks.Kind {
        switch self {
        case .reach: .reach
        case .target: .target
        case .parent: .parent
        case .notValidated: .notValidated
        case .acyclic: .acyclic
        case .noShareAbove: .noShareAbove
        case .noShareBelow: .noShareBelow
        }
    }
}

extension DeferredChecks.Check {
    var failure: RecordError {
        switch rule {
        case .reach(let isNew): isNew ? ShareRules.creatingRefused : ShareRules.writingRefused
        case .target(let field):
            RecordError(
                .validatingReferenceError, "The reference in field '\(field)' has action VALIDATE and its target '\(question.name)' does not exist")
        case .parent:
            RecordError(
                .validatingReferenceError,
                "The parent '\(question.name)' does not exist in the zone; save it first, or in the same request")
        case .notValidated: RecordError(known: .stillReferenced)
        case .acyclic: ParentOrder.cycle(question.name)
        case .noShareAbove:
            RecordError(
                .badRequest, "The record '\(question.name)' can't have a share: it has a parent, and its parent has a share. Stop one of the shares first, or clear the parent")
        case .noShareBelow:
            RecordError(
                .badRequest,
                "The record '\(question.name)' can't be shared: it is a parent, and one of its children has a share. Stop that share first, or clear its parent")
        }
    }
}
