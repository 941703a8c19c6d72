/// Whether the signature of a request is right.
public enum SignatureVerdict: Sendable, Hashable {
    case accepted(ServerKey)
    case refused(SignatureProblem)
}
