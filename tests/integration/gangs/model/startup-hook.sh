export FROM_HOOK=$((6 * 7))
