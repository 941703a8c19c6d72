/// What a service is for, as far as it matters to who may ask for it.
enum EndpointPurpose: Sendable, Hashable, CaseIterable {
    /// Reads records. In the public database anybody may to whom their types grant it.
    case reading
    /// Changes something, or is about zones: not without a user or a key.
    case changing
    /// Says who asks.
    case caller
    /// Says who others are.
    case people
}
