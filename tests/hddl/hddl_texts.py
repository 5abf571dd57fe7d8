"""Domains and problems of these tests, written for them."""

from __future__ import annotations

KITCHEN = """\
; a kitchen that has every part of the language that is read
(define (domain Kitchen)
  (:requirements :typing :hierarchy :negative-preconditions)
  (:types cup plate - dish  dish tool - thing  thing room)
  (:constants sink - room)
  (:predicates (at ?d - dish ?r - room) (clean ?d - dish) (wet ?d - thing) (linked ?a ?b - room) (me ?r - room))
  (:functions (water) (weight ?d - dish) - number (total-cost) - number)
  (:task serve :parameters (?d - dish ?r - room) :effect (and (at ?d ?r) (clean ?d)))
  (:task wash :parameters (?d - dish))
  (:task go :parameters (?to - room))
  (:task tidy :parameters ())

  (:method wash-and-carry
    :parameters (?r - room ?d - dish)
    :task (serve ?d ?r)
    :ordered-subtasks (and (WASH ?d) (go sink) (take ?d) (go ?r) (put ?d ?r)))
  (:method rinse-it
    :parameters (?d - dish)
    :task (wash ?d)
    :precondition (and (not (clean ?d)) (>= (water) (* 2 (weight ?d))))
    :subtasks (and (a (go sink)) (b (rinse ?d)))
    :ordering (and (< a b)))
  (:method is-clean :parameters (?d - dish) :task (wash ?d) :precondition (clean ?d) :ordered-subtasks ())
  (:method already :parameters (?to - room) :task (go ?to) :precondition (me ?to) :subtasks (and))
  (:method step
    :parameters (?from ?to - room) :task (go ?to) :precondition (and (me ?from))
    :constraints (not (= ?from ?to))
    :ordered-tasks (walk ?from ?to))
  (:method any-order
    :parameters (?one ?two - dish) :task (tidy)
    :precondition (and (not (= ?one ?two)) (or (wet ?one) (exists (?x - cup) (clean ?x))))
    :subtasks (and (t1 (wash ?one)) (t2 (wash ?two)) (t3 (go sink))) :ordering (and (< t1 t3) (< t2 t3)))

  (:action walk
    :parameters (?from ?to - room) :precondition (and (me ?from) (linked ?from ?to))
    :effect (and (me ?to) (not (me ?from)) (increase (total-cost) 3)))
  (:action rinse
    :parameters (?d - dish) :precondition (me sink)
    :effect (and (clean ?d) (decrease (water) (weight ?d)) (forall (?t - tool) (when (wet ?t) (not (wet ?t)))))
  )
  (:action take :parameters (?d - dish) :precondition () :effect (not (at ?d sink)))
  (:action put :parameters (?d - dish ?r - room) :effect (at ?d ?r))
)
"""

DINNER = """\
(define (problem dinner)
  (:domain kitchen)
  (:objects Mug - cup  soup-plate - plate  hall - room)
  (:htn :parameters () :ordered-subtasks (and (task0 (serve MUG hall)) (task1 (go sink))))
  (:init (me hall) (linked hall sink) (linked sink hall) (= (water) 10) (= (weight mug) 2.5) (= (total-cost) 0)
         (not (clean mug)))
  (:goal (and (clean mug) (forall (?d - cup) (at ?d hall))))
  (:metric minimize (total-cost)))
"""

ANY_DISH = """\
(define (problem any-dish)
  (:domain kitchen)
  (:objects mug - cup  hall - room)
  (:htn :parameters (?d - dish ?r - room)
    :subtasks (and (a (serve ?d ?r)) (b (go ?r))) :ordering (< a b) :constraints (not (= ?r sink)))
  (:init (me hall) (linked hall sink) (linked sink hall) (= (water) 10) (= (weight mug) 1)))
"""
